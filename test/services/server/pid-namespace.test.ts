import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { programArgs } from '../../support/repository.ts'
import { temporaryFor } from '../../support/temporary.ts'

const UNSHARE = ['--pid', '--fork', '--kill-child', '--mount-proc']
const skip =
  spawnSync('unshare', [...UNSHARE, 'true']).status === 0 ? false : 'unshare is missing or needs root (util-linux)'

/** Records that are never open, so that a server that has the directory stays at this point of its start. */
const RECORDS = `export default () => {
  console.log('the directory is mine')
  return new Promise(() => setInterval(() => undefined, 60_000))
}`

it('one server has a data directory with records elsewhere, also among PID namespaces', { skip }, async (t) => {
  const directory = await temporaryFor(t)
  const module = join(await temporaryFor(t), 'records.mjs')
  await writeFile(module, RECORDS)
  const start = (): ChildProcess => {
    const node = [process.execPath, ...programArgs('server/main.ts'), '--data-dir', directory, '--port', '0']
    const env = {
      EVIDENCE_ANCHOR: 'none',
      EVIDENCE_TSA: 'none',
      PATH: process.env['PATH'],
      EVIDENCE_RECORDS: module,
    }
    const child = spawn('unshare', [...UNSHARE, ...node], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    t.after(() => child.kill('SIGKILL'))
    return child
  }
  const hasDirectory = async ({ stdout }: ChildProcess): Promise<void> => {
    for await (const line of stdout ?? []) if (String(line).includes('the directory is mine')) return
    assert.fail('it ended')
  }
  const first = start()
  await hasDirectory(first)
  const second = start()
  let said = ''
  second.stderr?.on('data', (text) => (said += String(text)))
  assert.deepEqual(await once(second, 'close'), [1, null])
  assert.match(said, /is in use: process \d+ on .* has it open/)
  first.kill('SIGKILL')
  await once(first, 'exit')
  await hasDirectory(start())
})

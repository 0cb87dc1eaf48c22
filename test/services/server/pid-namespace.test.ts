import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { it } from 'node:test'
import { programArgs } from '../../support/repository.ts'
import { temporaryFor } from '../../support/temporary.ts'

const UNSHARE = ['--pid', '--fork', '--kill-child', '--mount-proc']
const skip =
  spawnSync('unshare', [...UNSHARE, 'true']).status === 0 ? false : 'unshare is missing or needs root (util-linux)'

// The database does not exist, so a server that may have the directory waits for it, and says so.
it('one server has a data directory with PostgreSQL, also among PID namespaces', { skip }, async (t) => {
  const directory = await temporaryFor(t)
  const start = (): ChildProcess => {
    const node = [process.execPath, ...programArgs('server/main.ts'), '--data-dir', directory, '--port', '0']
    const env = {
      EVIDENCE_ANCHOR: 'none',
      EVIDENCE_TSA: 'none',
      PATH: process.env['PATH'],
      EVIDENCE_RECORDS: 'postgres',
      EVIDENCE_POSTGRES_URL: 'postgres://127.0.0.1:1/x',
    }
    const child = spawn('unshare', [...UNSHARE, ...node], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    t.after(() => child.kill('SIGKILL'))
    return child
  }
  const waits = async ({ stdout }: ChildProcess): Promise<void> => {
    for await (const line of stdout ?? []) if (String(line).includes('waiting for PostgreSQL')) return
    assert.fail('it ended')
  }
  const first = start()
  await waits(first)
  const second = start()
  let said = ''
  second.stderr?.on('data', (text) => (said += String(text)))
  assert.deepEqual(await once(second, 'close'), [1, null])
  assert.match(said, /is in use by a process of another container or PID namespace/)
  first.kill('SIGKILL')
  await once(first, 'exit')
  await waits(start())
})

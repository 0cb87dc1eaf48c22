import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { verifyBundle } from '../../../core/verify/index.ts'
import { ends, runCli, ServerProcess } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

const ID = 'photo.jpg'

it('README.md names the command of each thing that the table says we do, and it works', async (t) => {
  const [, ours = ''] = /^\| \*\*Evidence Registry\*\* \|(.*)\|$/m.exec(await readFile('README.md', 'utf8')) ?? []
  const cells = ours.split(' | ')
  assert.equal(cells.length, 6, ours)
  for (const cell of cells) assert.ok(!/^\s*yes/.test(cell) || cell.includes('`'), cell)

  const directory = await temporaryFor(t)
  const path = (name: string): string => join(directory, name)
  const server = new ServerProcess(path('data'))
  t.after(() => server.stop())
  const url = await server.ready()
  const key = (await readFile(path('data/operator.key'), 'utf8')).trim()
  const request = async (method: string, shown: string, body?: object): Promise<Response> => {
    const at = shown.replace('…', '/evidences/acme').replace('{externalId}', ID)
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
    const response = await fetch(`${url}/api/v1${at}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    assert.ok(response.ok, await response.clone().text())
    return response
  }
  await request('POST', '/sourceSystem/acme', { name: 'first' })
  await writeFile(path(ID), 'content')
  const own = ['--url', url, '--company', 'acme']
  const run = (args: readonly string[]) => ends(0, runCli(args, { EVIDENCE_API_KEY: key }))
  /** What the table shows, in the order in which it can be done. */
  const commands: Readonly<Record<string, (shown: string) => Promise<void>>> = {
    async 'npm start'() {
      const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> }
      assert.equal(scripts['start'], 'exec node dist/server/main.js', 'which is what runs here')
    },
    async 'evidence-registry add'() {
      await run(['add', path(ID), ...own, '--category', 'Things/Photos', '--owner', 'Ada'])
    },
    async 'evidence-registry get'() {
      const { stdout } = await run(['get', ID, ...own, '--json'])
      assert.match(stdout, /"owner":"Ada"[^]*"type":"create"/)
    },
    async 'GET …/evidence/{externalId}/bundle?fields=name&files=none'(shown) {
      await run(['seal', '--data-dir', path('data')])
      const result = verifyBundle(await (await request('GET', shown.replace('GET ', ''))).text())
      assert.ok('claims' in result, JSON.stringify(result))
      assert.deepEqual([...(result.claims.events[0]?.fields ?? [])], [['name', ID]])
      await writeFile(path('policy.json'), await (await request('GET', '/log/policy')).text())
      await run(['bundle', ID, ...own, '--to', directory])
    },
    async 'POST …/evidence/{externalId}/erase'(shown) {
      const body = { fields: ['owner'], reason: 'request' }
      const text = await (await request('POST', shown.replace('POST ', ''), body)).text()
      assert.match(text, /"erased":\[\{"version":1,"field":"owner"\}\],"receipt":\{"txId":"[0-9a-f]{64}"\}/)
      assert.doesNotMatch((await run(['get', ID, ...own, '--json'])).stdout, /Ada/)
    },
    async 'evidence-registry verify'() {
      await server.stop()
      await run(['verify', path(`${ID}.evidence.json`), '--policy', path('policy.json'), '--file', path(ID)])
    },
  }
  const shownCommands = [...ours.matchAll(/`([^`]+)`/g)].map(([, shown]) => shown)
  assert.deepEqual(new Set(shownCommands), new Set(Object.keys(commands)))
  for (const [shown, does] of Object.entries(commands)) await does(shown)
})

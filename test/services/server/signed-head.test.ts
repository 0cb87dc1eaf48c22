import assert from 'node:assert/strict'
import { cp, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { runCli, ServerProcess } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

const OPERATOR_KEY = 'operator-key-of-a-test'

/** A server in a data directory, and requests with the operator key. */
async function start(t: TestContext, directory: string, env: Readonly<Record<string, string>> = {}) {
  const server = new ServerProcess(directory, { EVIDENCE_OPERATOR_KEY: OPERATOR_KEY, ...env })
  t.after(() => server.stop('SIGKILL'))
  const url = await server.ready()
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'x-api-key': OPERATOR_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const create = (externalId: string): Promise<Response> =>
    post('/evidences/acme/evidence', { externalId, name: 'x', categoryName: 'Tools', subcategoryName: 'Drills' })
  const isProven = async (externalId: string): Promise<boolean> => {
    const response = await fetch(`${url}/api/v1/merkle/verify/${externalId}`)
    const { merkle, tsa } = (await response.json()) as { merkle?: { sendStatus?: string }; tsa?: object }
    return merkle?.sendStatus === 'C' && tsa !== undefined
  }
  return { server, url, post, create, isProven }
}

/** Ends with an error line, before it is ready. */
async function failsToStart(directory: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const failed = new ServerProcess(directory, env)
  assert.notEqual(await failed.ended(), 0)
  return failed.stderr
}

describe('the signed head of a server', () => {
  it('must be there, newer records must not be set back, and such a store opens read-only', async (t) => {
    const directory = await temporaryFor(t)
    const [data, older] = [join(directory, 'data'), join(directory, 'older')]
    const first = await start(t, data)
    await first.post('/sourceSystem/acme', { name: 'first' })
    assert.equal((await first.create('one')).status, 201)
    await eventually(() => first.isProven('one'))
    assert.equal(await first.server.stop(), 0)
    await cp(data, older, { recursive: true })
    const second = await start(t, data)
    assert.equal((await second.create('two')).status, 201)
    await eventually(() => second.isProven('two'))
    assert.equal(await second.server.stop(), 0)

    // The newest head alone, kept elsewhere.
    const head = join(directory, 'head.json')
    await cp(join(data, 'signed-head.json'), head)
    await rm(join(data, 'signed-head.json'))
    assert.match(await failsToStart(data), /signed head is missing.*--adopt-head/)
    const missing = await runCli(['fsck', '--data-dir', data])
    assert.equal(missing.code, 1)
    assert.match(missing.stdout, /^head: signed-head.json: It is missing/m)
    const adopting = await start(t, data, { EVIDENCE_ADOPT_HEAD: head })
    assert.equal(await adopting.server.stop(), 0)
    assert.equal(await readFile(join(data, 'signed-head.json'), 'utf8'), await readFile(head, 'utf8'))

    const replace = async (name: string, from: string): Promise<void> => {
      await rm(join(data, name), { recursive: true })
      await cp(join(from, name), join(data, name), { recursive: true })
    }
    const newer = join(directory, 'newer')
    await cp(data, newer, { recursive: true })
    await replace('tsa', older)
    const oldAuthority = await runCli(['fsck', '--data-dir', data])
    assert.equal(oldAuthority.code, 1)
    assert.match(oldAuthority.stdout, /^stamp: .*newer than the last stamp of the embedded authority/m)

    const assertNoticed = async (): Promise<void> => {
      assert.match(await failsToStart(data), /set back or replaced/)
      const behind = await runCli(['fsck', '--data-dir', data])
      assert.equal(behind.code, 1)
      assert.match(behind.stdout, /^head: signed head: A checkpoint of \d+ entries was signed/m)
    }
    // Older records with their older head and authority pass each check but the one against the ledger.
    await replace('records', older)
    await replace('signed-head.json', older)
    await assertNoticed()
    // With their older ledger they pass each check but the one against the authority.
    await replace('ledger', older)
    await replace('tsa', newer)
    await assertNoticed()

    const reading = await start(t, data, { EVIDENCE_READ_ONLY: 'true' })
    assert.ok(await reading.isProven('one'))
    const refused = await reading.create('three')
    assert.equal(refused.status, 503)
    const { code, error } = (await refused.json()) as Record<string, string>
    assert.equal(code, 'UNAVAILABLE')
    assert.match(String(error), /read-only/)
    const ready = await fetch(`${reading.url}/readyz`)
    assert.deepEqual([ready.status, await ready.json()], [200, { status: 'ok', writes: 'READ_ONLY' }])
    assert.equal(await reading.server.stop(), 0)
  })

  it('is not created by a read-only start, and nothing else is', async (t) => {
    const directory = join(await temporaryFor(t), 'data')
    assert.match(await failsToStart(directory, { EVIDENCE_READ_ONLY: 'true' }), /There is no registry in/)
    await assert.rejects(stat(directory), { code: 'ENOENT' })
  })
})

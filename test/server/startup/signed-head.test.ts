import assert from 'node:assert/strict'
import { cp, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { OPERATOR } from '../../../core/index.ts'
import { openDirectory } from '../../support/configured-registry.ts'
import { eventually } from '../../support/eventually.ts'
import { inCategory } from '../../support/registry-fixture.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

const scope = { companyId: 'acme', principal: OPERATOR }
const READ_ONLY = { EVIDENCE_READ_ONLY: 'true' }

/** Opens the registry of a directory, creates an evidence, and waits until it is stamped and anchored. */
async function createIn(directory: string, externalId: string): Promise<void> {
  const { registry } = await openDirectory(directory)
  await registry.sourceSystems.create(scope, { name: externalId })
  await registry.evidences.create(scope, { ...inCategory('Tools', 'Drills'), externalId, name: 'x' })
  await eventually(async () => {
    const proof = await registry.proofs.evidence({ evidenceId: externalId })
    return proof.status === 'ok' && proof.merkle.sendStatus === 'C' && proof.tsa !== undefined
  })
  await registry.close()
}

const failsToStart = (directory: string, message: RegExp, env = {}): Promise<void> =>
  assert.rejects(openDirectory(directory, env), { name: 'RegistryError', message })

describe('the signed head of a data directory', () => {
  it('must be there, newer records must not be set back, and such a store opens read-only', async (t) => {
    const directory = await temporaryFor(t)
    const [data, older] = [join(directory, 'data'), join(directory, 'older')]
    const finds = async (difference: RegExp): Promise<void> => {
      const { stdout } = await ends(1, runCli(['fsck', '--data-dir', data]))
      assert.match(stdout, difference)
    }
    await createIn(data, 'one')
    await cp(data, older, { recursive: true })
    await createIn(data, 'two')

    // The newest head alone, kept elsewhere.
    const head = join(directory, 'head.json')
    await cp(join(data, 'signed-head.json'), head)
    await rm(join(data, 'signed-head.json'))
    await failsToStart(data, /signed head is missing.*evidence-registry adopt head/)
    await finds(/^head: signed-head.json: It is missing/m)
    const adopt = (from: string) => runCli(['adopt', 'head', from, '--data-dir', data])
    assert.match((await ends(2, adopt(join(directory, 'none.json')))).stderr, /none.json does not exist/)
    assert.match((await ends(0, adopt(head))).stdout, /^signed-head.json: a tree of \d+ entries was signed\n$/)
    assert.equal(await readFile(join(data, 'signed-head.json'), 'utf8'), await readFile(head, 'utf8'))
    assert.match((await ends(2, adopt(head))).stderr, /There is a signed head already/)
    await (await openDirectory(data)).registry.close()

    const replace = async (name: string, from: string): Promise<void> => {
      await rm(join(data, name), { recursive: true })
      await cp(join(from, name), join(data, name), { recursive: true })
    }
    const newer = join(directory, 'newer')
    await cp(data, newer, { recursive: true })
    await replace('ledger', older)
    await failsToStart(data, /The local ledger was set back: a tree of \d+ entries is confirmed/)
    await replace('ledger', newer)
    await replace('tsa', older)
    await finds(/^stamp: .*newer than the last stamp of the embedded authority/m)

    const assertNoticed = async (): Promise<void> => {
      await failsToStart(data, /set back or replaced/)
      await finds(/^head: signed head: A checkpoint of \d+ entries was signed/m)
    }
    // Older records with their older head and authority pass each check but the one against the ledger.
    await replace('records', older)
    await replace('signed-head.json', older)
    await assertNoticed()
    // With their older ledger they pass each check but the one against the authority.
    await replace('ledger', older)
    await replace('tsa', newer)
    await assertNoticed()

    const { registry } = await openDirectory(data, READ_ONLY)
    assert.equal((await registry.proofs.evidence({ evidenceId: 'one' })).status, 'ok')
    const refused = registry.evidences.create(scope, { ...inCategory('Tools', 'Drills'), externalId: 'x', name: 'x' })
    await assert.rejects(refused, { code: 'UNAVAILABLE', message: /read-only/ })
    await registry.close()
  })

  it('is not created by a read-only start, and nothing else is', async (t) => {
    const directory = join(await temporaryFor(t), 'data')
    await failsToStart(directory, /There is no registry in/, READ_ONLY)
    await assert.rejects(stat(directory), { code: 'ENOENT' })
  })
})

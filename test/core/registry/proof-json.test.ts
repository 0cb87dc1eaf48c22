import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { logKeys } from '../../../core/log/keys.ts'
import { LogReader } from '../../../core/log/reader.ts'
import type { AnchorHeadRecord, StampRecord } from '../../../core/log/records.ts'
import { putRecord } from '../../../core/store/read.ts'
import { present } from '../../support/present.ts'
import { withStatus } from '../../support/registry-fixture.ts'
import { fillRegistry, openSealedRegistry, type SealedRegistry } from '../../support/sealed-registry.ts'
import { temporaryFor } from '../../support/temporary.ts'

const NAMES = { category: { name: 'Tools' }, subcategory: { name: 'Drills' } }
const EVIDENCES = ['drill/4711', 'plain', 'späť "\u2028', 'none', '']

async function openFilled(t: TestContext): Promise<SealedRegistry> {
  const sealed = await openSealedRegistry(await temporaryFor(t))
  t.after(() => sealed.registry.close())
  await fillRegistry(sealed)
  return sealed
}

/** Compares three times, because the third text may be a kept one. */
async function compare({ registry: { proofs } }: SealedRegistry): Promise<void> {
  for (const evidenceId of [...EVIDENCES, ...EVIDENCES, ...EVIDENCES]) {
    const proof = await proofs.evidence({ evidenceId })
    assert.deepEqual(await proofs.evidenceJson({ evidenceId }), { status: proof.status, json: JSON.stringify(proof) })
  }
}

/** Counts the proofs that are made from now on: each needs a position in the log. */
function countProofs({ records }: SealedRegistry): { proofs: number } {
  const positionsOf = records.positionsOf.bind(records)
  const count = { proofs: 0 }
  records.positionsOf = (entries) => {
    count.proofs += 1
    return positionsOf(entries)
  }
  return count
}

describe('the JSON of the proof of an evidence', () => {
  it('is that of the proof after every change', async (t) => {
    const sealed = await openFilled(t)
    const { registry, scope, settle } = sealed
    await compare(sealed)
    await registry.evidences.create(scope, { ...NAMES, externalId: 'späť "\u2028', name: 'x' })
    await compare(sealed)
    await registry.sealNow()
    await compare(sealed)
    await settle()
    await compare(sealed)
    await registry.evidences.update(scope, 'plain', { files: [await sealed.stage('a.txt', 'a')] })
    await compare(sealed)
    await settle()
    await compare(sealed)
  })

  it('is that of the proof if another server changes an anchor or a stamp', async (t) => {
    const sealed = await openFilled(t)
    const { records, registry } = sealed
    await compare(sealed)
    const reader = new LogReader(records)
    const { merkle } = withStatus(await registry.proofs.evidence({ evidenceId: 'plain' }), 'ok')
    const stamp = present(await reader.stampCovering(merkle.treeSize))
    const renamed: StampRecord = { ...stamp, tokens: stamp.tokens.map((token) => ({ ...token, authority: 'another' })) }
    await records.commit({
      writes: [putRecord(logKeys.stamp(stamp.size), renamed), putRecord(logKeys.stampHead(), { size: stamp.size })],
    })
    assert.match((await registry.proofs.evidenceJson({ evidenceId: 'plain' })).json, /"authority":"another"/)
    await compare(sealed)
    const anchor = present(await reader.anchorCovering(merkle.treeSize))
    const head: AnchorHeadRecord = { confirmedSize: 0, sentSize: anchor.size, outstanding: anchor.size, unsettled: [] }
    await records.commit({ writes: [putRecord(logKeys.anchorHead(), head)] })
    assert.match((await registry.proofs.evidenceJson({ evidenceId: 'plain' })).json, /"sendStatus":"S"/)
    await compare(sealed)
  })

  it('is kept until the evidence changes, also while later batches are stamped and anchored', async (t) => {
    const sealed = await openFilled(t)
    const { registry, scope, settle } = sealed
    await settle()
    const count = countProofs(sealed)
    const proofsMade = async (): Promise<number> => {
      count.proofs = 0
      for (const companyId of [undefined, 'acme'])
        await registry.proofs.evidenceJson({ evidenceId: 'plain', ...(companyId !== undefined && { companyId }) })
      return count.proofs
    }
    assert.equal(await proofsMade(), 2)
    assert.equal(await proofsMade(), 0)
    await registry.evidences.update(scope, 'plain', { name: 'Renamed' })
    assert.equal(await proofsMade(), 1)
    assert.equal(await proofsMade(), 0)
    // A later stamp and a later anchor change nothing of what covers this event.
    await settle()
    assert.equal(await proofsMade(), 0)
  })
})

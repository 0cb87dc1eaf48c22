import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { EvidenceRegistryError } from '../../../server/client/index.ts'
import { uiModule } from '../../support/ui-module.ts'

const PROOF = { eventCount: 2, externalId: 'VIN-1', lastTxId: 'b' }

let ui: {
  askForLater(proof: object, anyone: object, ofCompany?: object): Promise<string>
  EvidenceRegistryError: typeof EvidenceRegistryError
}

const notFound = (code: string): Promise<never> =>
  Promise.reject(new ui.EvidenceRegistryError('not found', { code, status: 404, body: undefined }))

/** A registry whose log has these txIds. */
const logWith = (...txIds: string[]) => ({
  getProof: ({ txId }: { txId: string }) => (txIds.includes(txId) ? Promise.resolve({}) : notFound('NOT_FOUND')),
})

/** A company whose evidence VIN-1 has these events. */
const companyWith = (...txIds: string[]) => ({
  getEvidence({ last, len = 100 }: { last: number; len?: number }) {
    if (txIds.length === 0) return notFound('EVIDENCE_NOT_FOUND')
    const events = txIds.slice(last, last + len).map((txId) => ({ txId }))
    return Promise.resolve({ events, lastVersion: Math.min(last + events.length, txIds.length) })
  },
})

describe('what the registry says about later events', () => {
  before(async () => {
    ui = await uiModule('pages/later-events.ts', '../client/index.ts')
  })

  it('is about the history that holds the last event of the proof, and about no other', async () => {
    const log = logWith('a', 'b', 'c')
    const [unnamed, known] = [{ ...PROOF, externalId: undefined }, /^The registry knows this proof, but says/]
    const cases: readonly (readonly [string, object, object | undefined, RegExp])[] = [
      ['the same history', PROOF, companyWith('a', 'b'), /none later/],
      ['a longer one', PROOF, companyWith('a', 'b', 'c'), /the newest is event 3/],
      ['another evidence with this external id', PROOF, companyWith('x', 'y'), known],
      ['a shorter one', PROOF, companyWith('a'), known],
      ['a company without this external id', PROOF, companyWith(), known],
      ['no external id', unnamed, companyWith('a', 'b'), known],
      ['no key', PROOF, undefined, known],
    ]
    for (const [what, proof, company, said] of cases)
      assert.match(await ui.askForLater(proof, log, company), said, what)
    for (const company of [companyWith('x', 'y'), undefined])
      assert.match(await ui.askForLater(PROOF, logWith('a'), company), /does not know the newest event of this proof/)
  })
})

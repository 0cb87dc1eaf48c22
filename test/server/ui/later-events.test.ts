import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { EvidenceRegistryError } from '../../../server/client/index.ts'
import { uiModule } from '../../support/ui-module.ts'

const CREATED = Date.UTC(2026, 0, 1)
const PROOF = { eventCount: 2, first: { txId: 'a', time: CREATED }, lastTxId: 'b' }

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

/** A company with one evidence, VIN-1, that has these events. */
const companyWith = (...txIds: string[]) => ({
  listEvidences({ createdFrom, createdTo }: { createdFrom: string; createdTo: string }) {
    const isCreated = createdFrom <= new Date(CREATED).toISOString() && new Date(CREATED).toISOString() < createdTo
    const own = { externalId: 'VIN-1', txId: txIds[0], historyChanges: { total: txIds.length } }
    return Promise.resolve({ dts: isCreated && txIds.length > 0 ? [own] : [] })
  },
  getEvidence({ last, len }: { last: number; len: number }) {
    const events = txIds.slice(last, last + len).map(() => ({ type: 'transfer', timestamp: CREATED }))
    return Promise.resolve({
      object: { name: 'Golf', owner: 'Ada', status: 'stolen' },
      events,
      lastVersion: last + events.length,
    })
  },
})

describe('what the registry says about later events', () => {
  before(async () => {
    ui = await uiModule('pages/later-events.ts', '../client/index.ts')
  })

  it('is about the history that begins with the first event of the proof, and about no other', async () => {
    const log = logWith('a', 'b', 'c')
    const known = /^The registry knows this proof, but says/
    const later = { ...PROOF, first: { txId: 'a', time: CREATED + 1 } }
    const cases: readonly (readonly [string, object, object | undefined, RegExp])[] = [
      ['the same history', PROOF, companyWith('a', 'b'), /none later/],
      ['a longer one', PROOF, companyWith('a', 'b', 'c'), /the newest is event 3/],
      ['another evidence of the same time', PROOF, companyWith('x', 'y'), known],
      ['another time', later, companyWith('a', 'b'), known],
      ['a company without evidences', PROOF, companyWith(), known],
      ['no key', PROOF, undefined, known],
    ]
    for (const [what, proof, company, said] of cases)
      assert.match(await ui.askForLater(proof, log, company), said, what)
    for (const company of [companyWith('x', 'y'), undefined])
      assert.match(await ui.askForLater(PROOF, logWith('a'), company), /does not know the newest event of this proof/)
  })

  it('says owner, state and newest event to a user of the company', async () => {
    const said = await ui.askForLater(PROOF, logWith(), companyWith('a', 'b'))
    assert.match(said, /Golf. is reported stolen, and has the owner .Ada.\. Newest event: Transferred, Jan 1, 2026\./)
  })
})

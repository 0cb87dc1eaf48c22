import type { Client, EvidencePage } from '../../client/index.ts'
import { statusOf } from '../event-changes.ts'
import { eventName } from '../event-names.ts'
import { insteadOf } from '../failure.ts'
import { formatAge, formatUtc } from '../format.ts'
import * as texts from '../texts/index.ts'
import type { Summary } from './verify-document.ts'

type Proof = Pick<Summary, 'eventCount' | 'first' | 'lastTxId'>

/** What the registry says about events after those of a proof. `ofCompany`: with the key of the user. */
export async function askForLater(proof: Proof, anyone: Client, ofCompany?: Client): Promise<string> {
  const t = texts.verify
  const own = ofCompany && (await readOwn(proof.first, ofCompany))
  if (own !== undefined) return sayPresent(own, proof.eventCount)
  const isKnown = await anyone.getProof({ txId: proof.lastTxId }).then(() => true, insteadOf('NOT_FOUND', false))
  return isKnown ? t.knownOnly : t.notKnown
}

/** What a user of its company sees at once: whether the proof is the newest, owner, state and newest event. */
function sayPresent({ object, events, lastVersion }: EvidencePage, eventCount: number): string {
  const t = texts.verify
  const newest = events.map((event) =>
    t.newest(eventName(event.type, event.updateType, statusOf(event)), formatAge(event.timestamp)),
  )
  const later = lastVersion > eventCount ? t.later(lastVersion) : t.noneLater
  return [later, t.present(object.name, object.status === 'stolen', object.owner), ...newest].join(' ')
}

/** The most that one request returns. */
const MAX_EVIDENCES = 1_000

/**
 * The record that begins with an event, with its newest event; `undefined` if the company of the key has none. It is
 * found by the time and the txId of its creation: another company may have the same external id, and a proof need not
 * show it.
 */
async function readOwn({ txId, time }: Summary['first'], client: Client): Promise<EvidencePage | undefined> {
  const created = { createdFrom: formatUtc(time), createdTo: formatUtc(time + 1) }
  const { dts } = await client.listEvidences({ ...created, len: MAX_EVIDENCES })
  const own = dts.find((each) => each.txId === txId)
  if (own === undefined) return undefined
  const { externalId, historyChanges } = own
  return client.getEvidence({ externalId, last: historyChanges.total - 1, len: 1, disclose: true })
}

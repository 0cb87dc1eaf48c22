import type { Client } from '../../client/index.ts'
import { insteadOf } from '../failure.ts'
import { texts } from '../texts.ts'
import type { Summary } from './verify-document.ts'

/** More than a history has. */
const AFTER_ALL = 1_000_000_000

type Proof = Pick<Summary, 'eventCount' | 'externalId' | 'lastTxId'>

/** What the registry says about events after those of a proof. `ofCompany`: with the key of the user. */
export async function askForLater(proof: Proof, anyone: Client, ofCompany?: Client): Promise<string> {
  const t = texts.verify
  const newest = ofCompany && (await newestVersion(proof, ofCompany))
  if (newest !== undefined) return newest > proof.eventCount ? t.later(newest) : t.noneLater
  const isKnown = await anyone.getProof({ txId: proof.lastTxId }).then(() => true, insteadOf('NOT_FOUND', false))
  return isKnown ? t.knownOnly : t.notKnown
}

/**
 * The newest version of the history of a proof. Another company may have the same external id: `undefined` unless its
 * history holds the last event of the proof.
 */
async function newestVersion({ eventCount, externalId, lastTxId }: Proof, client: Client): Promise<number | undefined> {
  if (externalId === undefined) return undefined
  const page = await client
    .getEvidence({ externalId, last: eventCount - 1, len: 1 })
    .catch(insteadOf('EVIDENCE_NOT_FOUND', undefined))
  if (page?.events[0]?.txId !== lastTxId) return undefined
  return (await client.getEvidence({ externalId, last: AFTER_ALL })).lastVersion
}

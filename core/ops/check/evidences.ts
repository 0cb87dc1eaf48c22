import { fromHex, toHex } from '../../bytes.ts'
import { txIdOf } from '../../commitment/event-format.ts'
import { HASH_BYTES } from '../../log/tree/hash.ts'
import type { Check } from './check.ts'
import type { EventOfEvidence, HistoriesCheck } from './history.ts'
import { openingOf } from '../../registry/event/opening.ts'
import { firstEventOf } from '../../store/evidence.ts'
import { keys, partsOfKey, type StoredRecord } from '../../store/keys.ts'
import { readAll } from '../../store/read.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'

/** What events are compared with. */
interface EventContext {
  readonly origin: string | undefined
  /** If the whole store is checked. */
  readonly whole?: { readonly histories: HistoriesCheck }
}

/** Checks evidences with their first events. */
export async function checkEvidences(
  check: Check,
  context: EventContext,
  page: readonly StoredRecord<EvidenceRecord>[],
): Promise<void> {
  const events = page.flatMap((entry): readonly EventOfEvidence[] => {
    const evidence = check.decode('evidence', entry)
    const event = evidence && check.guard('event', entry.key, () => firstEventOf(evidence))
    return evidence && event ? [{ key: entry.key, event, evidenceKey: entry.key, evidence }] : []
  })
  await checkEvents(check, context, events)
}

/** Checks events from version 2. */
export async function checkLaterEvents(
  check: Check,
  context: EventContext,
  page: readonly StoredRecord<EventRecord>[],
): Promise<void> {
  const ownerKeys = page.map(({ key }) => {
    const [, company = '', id = ''] = partsOfKey(key)
    return keys.evidence(company, id)
  })
  const wanted = [...new Set(ownerKeys)]
  const found = await readAll(check.records, wanted)
  const evidences = new Map(found.map((entry, i) => [wanted[i], check.decode('evidence', entry)]))
  const events = page.flatMap((entry, i): readonly EventOfEvidence[] => {
    const evidenceKey = ownerKeys[i]
    const evidence = evidences.get(evidenceKey)
    const event = check.decode('event', entry)
    return evidenceKey && evidence && event ? [{ key: entry.key, event, evidenceKey, evidence }] : []
  })
  await checkEvents(check, context, events)
}

async function checkEvents(
  check: Check,
  { origin, whole }: EventContext,
  events: readonly EventOfEvidence[],
): Promise<void> {
  if (origin !== undefined) for (const event of events) checkOpening(check, origin, event)
  // `checkLogPage` compares the positions of events with the log.
  for (const { event, evidenceKey, evidence } of events)
    if (event.version === evidence.lastVersion)
      check.expect(event.position === evidence.lastPosition, 'evidence', evidenceKey, 'Its lastPosition is another one')
  if (whole === undefined) return
  const positions = await check.records.positionsOf(events.map(({ event }) => logEntryOf(event.txId)))
  for (const [i, event] of events.entries()) {
    check.expect(positions[i] !== undefined, 'event', event.key, 'Its txId is not in the log')
    await whole.histories.add(event)
  }
}

/** Checks that the txId results from the values and salts. `checkLogPage` checks the opening in the log. */
function checkOpening(check: Check, origin: string, { key, event, evidence: { slotKey } }: EventOfEvidence): void {
  const opening = check.guard('event', key, () => openingOf(event, { origin, slotKey }))
  if (opening === undefined) return
  check.expect(toHex(txIdOf(opening)) === event.txId, 'event', key, 'Its values and salts result in another txId')
}

/** The log entry of a txId. If the txId is damaged or missing, an entry that no log contains. */
function logEntryOf(txId: string | undefined): Uint8Array {
  const entry = txId === undefined ? undefined : fromHex(txId)
  return entry?.length === HASH_BYTES ? entry : new Uint8Array(HASH_BYTES)
}

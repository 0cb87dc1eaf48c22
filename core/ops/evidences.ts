import { fromHex } from '../bytes.ts'
import { canonicalJson, type Json } from '../commitment/canonical-json.ts'
import { HASH_BYTES } from '../log/tree/hash.ts'
import type { Key } from '../ports/index.ts'
import { keys, type StoredRecord } from '../store/keys.ts'
import { firstEventOf, slotKeyField } from '../store/evidence.ts'
import type { EventRecord, EvidenceRecord } from '../store/records.ts'
import type { Check } from './check.ts'
import { checkEventFiles, addEvent, checkOpening, emptyHistory, type History } from './history.ts'
import { checkRecordPage } from './records.ts'

/**
 * Reads each evidence with its events. Each event's txId is computed again from its values and salts. Each evidence's
 * record must be the result of its history.
 */
export async function checkEvidences(check: Check, origin: string | undefined): Promise<void> {
  for await (const page of check.pages(keys.evidences())) {
    await checkRecordPage(check, page)
    const evidences = page.map((entry) => check.decode('evidence', entry))
    const positions = await check.records.positionsOf(evidences.map((evidence) => logEntryOf(evidence?.txId)))
    for (const [i, { key }] of page.entries()) {
      const evidence = evidences[i]
      if (evidence === undefined) continue
      const history = emptyHistory()
      const first = check.guard('event', key, () => firstEventOf(evidence))
      await checkEvents(check, origin, { evidence, history, events: [{ key, event: first, position: positions[i] }] })
      if (evidence.lastVersion > 1)
        for await (const later of check.pages(keys.laterEventsOf(evidence.company, evidence.id)))
          await checkEvents(check, origin, { evidence, history, events: await decodedEvents(check, later) })
      check.guard('evidence', key, () => compareRecord(check, key, evidence, history))
    }
  }
}

interface EventPage {
  readonly evidence: EvidenceRecord
  readonly history: History
  readonly events: readonly DecodedEvent[]
}

interface DecodedEvent {
  /** Of the record that holds the event. */
  readonly key: Key
  /** `undefined` if it cannot be decoded, which was reported. */
  readonly event: EventRecord | undefined
  /** In the log. */
  readonly position: number | undefined
}

async function decodedEvents(
  check: Check,
  entries: readonly StoredRecord<EventRecord>[],
): Promise<readonly DecodedEvent[]> {
  const events = entries.map((entry) => ({ key: entry.key, event: check.decode('event', entry) }))
  const positions = await check.records.positionsOf(events.map(({ event }) => logEntryOf(event?.txId)))
  return events.map((decoded, i) => ({ ...decoded, position: positions[i] }))
}

async function checkEvents(
  check: Check,
  origin: string | undefined,
  { evidence, history, events }: EventPage,
): Promise<void> {
  for (const { key, event, position } of events) {
    if (event === undefined) continue
    check.expect(position !== undefined, 'event', key, 'Its txId is not in the log')
    checkOpening(check, { origin, evidence, key, event })
    await checkEventFiles(check, evidence, event, history)
    check.guard('event', key, () =>
      addEvent(check, keys.event(evidence.company, evidence.id, history.version + 1), { key, event }, history),
    )
  }
  check.progress('evidences', events.length)
}

/** The log entry of a txId. If the txId is damaged or missing, an entry that no log contains. */
function logEntryOf(txId: string | undefined): Uint8Array {
  const entry = txId === undefined ? undefined : fromHex(txId)
  return entry?.length === HASH_BYTES ? entry : new Uint8Array(HASH_BYTES)
}

/** Reports every member of the evidence's record that is not the result of its history. */
function compareRecord(check: Check, key: Key, evidence: EvidenceRecord, history: History): void {
  const expected = expectedRecord(history)
  const actual: Readonly<Record<string, unknown>> = {
    ...evidence,
    slotKey: slotKeyField(evidence.slotKey),
    // An image without an id is not the result of any history.
    imageId: evidence.image && (evidence.image.id ?? null),
  }
  // An event that cleared meta has the empty object, as one that set it to the empty object.
  const meta = { meta: hasMembers(history.values.get('meta')) ? history.values.get('meta') : evidence.meta && {} }
  for (const [name, value] of Object.entries({ ...expected, ...meta })) {
    if (isSameValue(actual[name], value)) continue
    check.report('evidence', key, `Its ${name} is not the result of its history`)
  }
}

function expectedRecord({ values, ...history }: History): Readonly<Record<string, unknown>> {
  const unlessEmpty = (name: string): Json | undefined => {
    const value = values.get(name)
    return value === '' ? undefined : value
  }
  return {
    id: values.get('evidence'),
    company: values.get('company'),
    externalId: values.get('externalId'),
    categoryId: values.get('categoryId'),
    subcategoryId: values.get('subcategoryId'),
    name: values.get('name'),
    stolen: values.get('status') === 'stolen',
    description: unlessEmpty('description'),
    summary: unlessEmpty('summary'),
    owner: unlessEmpty('owner'),
    imageId: values.get('imageId'),
    createdAt: history.createdAt,
    txId: history.first,
    lastVersion: history.version,
    lastTxId: history.prev,
    lastAt: history.time,
    changes: history.changes,
    slotKey: values.get('slotKey'),
    fileCount: history.attachedFiles.size,
  }
}

const hasMembers = (value: Json | undefined): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0

const isSameValue = (a: unknown, b: unknown): boolean =>
  a === b || (a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b))

import { toHex } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import type { Entry, Key, RecordStore } from '../ports/index.ts'
import { LOG_ENTRY_BYTES } from '../store/commit-plan.ts'
import { decorateRecords } from '../store/decorate-records.ts'
import { withFirstEvent, type EvidenceWithoutEvent } from '../store/events.ts'
import { partsOfKey, recordKey } from '../store/key.ts'
import { decodeRecord, encodeRecord } from '../store/record-codec.ts'
import type { EventRecord } from '../store/records.ts'

/**
 * Shows the records of store format 1, which version 0.1.0 wrote, as format 2 has them: the openings of events and
 * of the log's own entries appear as the payloads of their log entries, the first event of an evidence appears in the
 * evidence's record, and the lists of categories and companies do not appear. `migrate --upgrade` copies it to a new
 * store, and derives the lists of companies. It can only be read.
 */
export const upgradedRecords = (old: RecordStore): RecordStore =>
  decorateRecords(old, {
    get: async (keys) => converted(old, await old.get(keys)),
    list: async function* (range) {
      const { limit = Infinity, ...unlimited } = range
      let left = limit
      for await (const entry of old.list(unlimited)) {
        if (left === 0) return
        const [record] = await converted(old, [entry])
        if (record === undefined) continue
        left -= 1
        yield record
      }
    },
    readPayloads: async (from, count) => payloadsOf(old, await old.readLog(from, count)),
  })

/** The records in which format 1 kept what format 2 stores as the payload of a log entry. */
const EVENT_PAYLOADS = 'tx'
const CONTROL_PAYLOADS = 'oe'

/** True for a record that format 2 does not have. */
function isDropped(key: Key): boolean {
  const [family, first] = partsOfKey(key)
  if (family === EVENT_PAYLOADS || family === CONTROL_PAYLOADS) return true
  // The list of a category is merged from those of its subcategories. That of a company is derived, with its values.
  if (family === 'el') return first === 'category' || first === 'company'
  return family === 'vh' && key === firstEventKey(first)
}

/** Where format 1 kept the first event of an evidence. */
const firstEventKey = (evidenceId = ''): Key => recordKey('vh', evidenceId, 1)

/** The entries as format 2 has them, `undefined` for those that it does not have. */
async function converted(
  old: RecordStore,
  entries: readonly (Entry | undefined)[],
): Promise<readonly (Entry | undefined)[]> {
  const evidences = entries.filter((entry) => entry?.key.startsWith('ev/') === true)
  const events =
    evidences.length === 0
      ? []
      : await old.get(evidences.map((entry) => firstEventKey(partsOfKey(entry?.key ?? '')[1])))
  const eventOf = new Map(evidences.map((evidence, i) => [evidence, events[i]]))
  return entries.map((entry) => {
    if (entry === undefined || isDropped(entry.key)) return undefined
    const event = eventOf.get(entry)
    return event === undefined ? entry : withEvent(entry, event)
  })
}

/** The record of an evidence, with its first event in it. */
const withEvent = (evidence: Entry, event: Entry): Entry => ({
  ...evidence,
  value: encodeRecord(withFirstEvent(decodeRecord<EvidenceWithoutEvent>(evidence), decodeRecord<EventRecord>(event))),
})

/** The payloads of packed log entries. Throws `CORRUPT` if one is missing. */
async function payloadsOf(old: RecordStore, packed: Uint8Array): Promise<readonly Uint8Array[]> {
  const txIds = Array.from({ length: packed.length / LOG_ENTRY_BYTES }, (_, i) =>
    toHex(packed.subarray(i * LOG_ENTRY_BYTES, (i + 1) * LOG_ENTRY_BYTES)),
  )
  const [events, controls] = await Promise.all(
    [EVENT_PAYLOADS, CONTROL_PAYLOADS].map((family) => old.get(txIds.map((txId) => recordKey(family, txId)))),
  )
  return txIds.map((txId, i) => {
    const record = events?.[i] ?? controls?.[i]
    if (record !== undefined) return record.value
    throw new RegistryError('CORRUPT', `The opening of log entry ${txId} is missing: restore a backup`)
  })
}

import type { Entry, Key, Range, RecordStore } from '../ports/index.ts'
import { firstEventOf } from '../store/events.ts'
import { partsOfKey } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import type { EventRecord, EvidenceRecord } from '../store/records.ts'
import { PAGE_RECORDS, type Check } from './check.ts'
import { checkOpening } from './history.ts'
import { KEY_RANGES } from './kinds.ts'

/** The rest of the family of records that contains `from` or follows it. `undefined` behind the last one. */
export function rangeFrom(from: Key): Range | undefined {
  const range = KEY_RANGES.find(({ lt }) => from < lt)
  return range && { gte: from > range.gte ? from : range.gte, lt: range.lt }
}

/**
 * Reads a page of records, of which each is checked by its CRC-32, and computes the txIds of the events among them
 * again. Each record is checked by itself, because others may change meanwhile. Returns where the next page begins.
 */
export async function checkRecordPage(
  check: Check,
  origin: string,
  range: Range,
): Promise<{ readonly next: Key; readonly count: number }> {
  const page = await readPage(check.records, { ...range, limit: PAGE_RECORDS })
  for (const entry of page) await checkEventIn(check, origin, entry)
  const last = page.at(-1)
  const isEnd = last === undefined || page.length < PAGE_RECORDS
  return { next: isEnd ? range.lt : `${last.key}\0`, count: page.length }
}

/** Reads a range to its end, so that no iterator stays open. */
export async function readPage(records: RecordStore, range: Range): Promise<readonly Entry[]> {
  const page: Entry[] = []
  for await (const entry of records.list(range)) page.push(entry)
  return page
}

async function checkEventIn(check: Check, origin: string, entry: Entry): Promise<void> {
  const [family, evidenceId = ''] = partsOfKey(entry.key)
  if (family !== 'ev' && family !== 'vh') return
  const evidence =
    family === 'ev'
      ? check.decode<EvidenceRecord>('evidence', entry)
      : await check.read<EvidenceRecord>('evidence', keys.evidence(evidenceId))
  if (evidence === undefined) return
  const event =
    family === 'ev'
      ? check.guard('event', entry.key, () => firstEventOf(evidence))
      : check.decode<EventRecord>('event', entry)
  if (event !== undefined) checkOpening(check, { origin, evidence, key: entry.key, event })
}

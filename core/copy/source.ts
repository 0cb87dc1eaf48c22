import { logKeys } from '../log/keys.ts'
import type { TreeHeadRecord } from '../log/records.ts'
import type { Entry, Key, LogAppend, Range, RecordSnapshot } from '../ports/index.ts'
import { LOG_ENTRY_BYTES } from '../store/commit-plan.ts'
import { keys } from '../store/keys.ts'
import { decodeRecord } from '../store/record-codec.ts'

/** Every key: keys are printable ASCII. */
export const ALL_KEYS: Range = { gte: ' ', lt: '\x7f' }

/** Log entries that are read or appended at once: PostgreSQL ends a statement that takes more than 15 s. */
export const CHUNK_ENTRIES = 16_384

/** Records that describe one store only. */
const NOT_COPIED: ReadonlySet<Key> = new Set([keys.filling(), logKeys.sealerLease()])

export type CopiedRecord = Pick<Entry, 'key' | 'value'>

/** What a copy reads, in order: a store, a snapshot of one, or a backup. It can be read more than once. */
export interface RecordSource {
  /** Number of log entries. */
  logSize(): Promise<number>
  /** Yields all log entries with their payloads, up to `CHUNK_ENTRIES` at a time. */
  log(): AsyncIterable<readonly LogAppend[]>
  /** Yields all records in the order of their keys, without those that describe one store only. */
  records(): AsyncGenerator<CopiedRecord, undefined>
}

/** The size of the sealed tree in a record, `undefined` if the record is another one. */
export const treeSizeIn = (record: CopiedRecord): number | undefined =>
  record.key === logKeys.treeHead() ? decodeRecord<TreeHeadRecord>(record).size : undefined

export type StoreReader = Omit<RecordSnapshot, 'close'>

/** The log and the records of a store or a snapshot. */
export const sourceOf = (store: StoreReader): RecordSource => ({
  logSize: () => store.logSize(),
  log: () => logOf(store),
  records: () => recordsOf(store),
})

async function* logOf(store: StoreReader): AsyncGenerator<readonly LogAppend[]> {
  const size = await store.logSize()
  for (let at = 0; at < size;) {
    const appends = await readAppends(store, at, Math.min(CHUNK_ENTRIES, size - at))
    if (appends.length === 0) return
    yield appends
    at += appends.length
  }
}

async function* recordsOf(store: StoreReader): AsyncGenerator<CopiedRecord, undefined> {
  for await (const entry of store.list(ALL_KEYS)) if (!NOT_COPIED.has(entry.key)) yield entry
  return undefined
}

/** Reads log entries with their payloads. Returns fewer than `count` if the log, or its payloads, end before. */
export async function readAppends(store: StoreReader, from: number, count: number): Promise<readonly LogAppend[]> {
  const [entries, payloads] = await Promise.all([store.readLog(from, count), store.readPayloads(from, count)])
  const length = Math.min(payloads.length, entries.length / LOG_ENTRY_BYTES)
  return payloads.slice(0, length).map((payload, i) => ({
    entry: entries.subarray(i * LOG_ENTRY_BYTES, (i + 1) * LOG_ENTRY_BYTES),
    payload,
  }))
}

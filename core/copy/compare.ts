import { equalBytes } from '../bytes.ts'
import { logKeys } from '../log/keys.ts'
import type { Entry, Key, RecordStore, LogAppend } from '../ports/index.ts'
import { LOG_ENTRY_BYTES } from '../store/commit-plan.ts'
import { keys } from '../store/keys.ts'
import { ALL_KEYS } from './target.ts'

export interface RecordStores {
  readonly from: RecordStore
  readonly to: RecordStore
}

/** Log entries that are read or appended at once: PostgreSQL ends a statement that takes more than 15 s. */
export const CHUNK_ENTRIES = 16_384

/** Records that describe one store only. */
const NOT_COPIED: ReadonlySet<Key> = new Set([keys.filling(), logKeys.sealerLease()])

/** A record that differs between the stores. A value is missing if that store does not have the record. */
export interface RecordDifference {
  readonly key: Key
  readonly source?: Uint8Array
  readonly target?: Uint8Array
}

/** Returns the first of `count` positions at which the logs differ. */
export async function firstLogDifference({ from, to }: RecordStores, count: number): Promise<number | undefined> {
  for (let at = 0; at < count; at += CHUNK_ENTRIES) {
    const length = Math.min(CHUNK_ENTRIES, count - at)
    const [source, target] = await Promise.all([readAppends(from, at, length), readAppends(to, at, length)])
    for (let i = 0; i < length; i += 1) if (!isSameAppend(source[i], target[i])) return at + i
  }
  return undefined
}

const isSameAppend = (a: LogAppend | undefined, b: LogAppend | undefined): boolean =>
  a !== undefined && b !== undefined && equalBytes(a.entry, b.entry) && equalBytes(a.payload, b.payload)

/** Reads log entries with their payloads. Returns fewer than `count` if the log, or its payloads, end before. */
export async function readAppends(store: RecordStore, from: number, count: number): Promise<readonly LogAppend[]> {
  const [entries, payloads] = await Promise.all([store.readLog(from, count), store.readPayloads(from, count)])
  const length = Math.min(payloads.length, entries.length / LOG_ENTRY_BYTES)
  return payloads.slice(0, length).map((payload, i) => ({
    entry: entries.subarray(i * LOG_ENTRY_BYTES, (i + 1) * LOG_ENTRY_BYTES),
    payload,
  }))
}

/**
 * Walks both stores in key order and yields each record that differs. The caller may write a yielded record to the
 * target: the walk has passed its key. Calls `onRecord` with the number of keys read so far.
 */
export async function* recordDifferences(
  { from, to }: RecordStores,
  onRecord: (done: number) => void,
): AsyncGenerator<RecordDifference> {
  const [sources, targets] = [copiedRecords(from), copiedRecords(to)]
  try {
    let [source, target] = await Promise.all([nextOf(sources), nextOf(targets)])
    for (let done = 1; source !== undefined || target !== undefined; done += 1) {
      const key: Key = target === undefined || (source && source.key < target.key) ? source!.key : target.key
      const inSource: Entry | undefined = source?.key === key ? source : undefined
      const inTarget: Entry | undefined = target?.key === key ? target : undefined
      if (inSource === undefined || inTarget === undefined || !equalBytes(inSource.value, inTarget.value))
        yield { key, ...(inSource && { source: inSource.value }), ...(inTarget && { target: inTarget.value }) }
      onRecord(done)
      if (inSource !== undefined) source = await nextOf(sources)
      if (inTarget !== undefined) target = await nextOf(targets)
    }
  } finally {
    await Promise.all([sources.return(undefined), targets.return(undefined)])
  }
}

async function* copiedRecords(store: RecordStore): AsyncGenerator<Entry, undefined> {
  for await (const entry of store.list(ALL_KEYS)) if (!NOT_COPIED.has(entry.key)) yield entry
  return undefined
}

const nextOf = async (entries: AsyncGenerator<Entry, undefined>): Promise<Entry | undefined> =>
  (await entries.next()).value

export interface Comparison {
  /** Log entries and records that were compared. */
  readonly compared: number
  readonly differences: number
}

export interface ComparisonHandlers {
  onDifference(subject: string, message: string): void
  onProgress(compared: number): void
}

/** Compares every log entry and every record, and reports each difference. Of the log only the first one. */
export async function compareStores(stores: RecordStores, handlers: ComparisonHandlers): Promise<Comparison> {
  let differences = 0
  const report = (subject: string, message: string): void => {
    differences += 1
    handlers.onDifference(subject, message)
  }
  const logSize = await compareLogs(stores, report)
  let compared = logSize
  handlers.onProgress(compared)
  const onRecord = (done: number): void => handlers.onProgress((compared = logSize + done))
  for await (const { key, source, target } of recordDifferences(stores, onRecord)) {
    if (target === undefined) report(key, 'The target does not have it')
    else report(key, source === undefined ? 'The source does not have it' : 'The target has another value')
  }
  return { compared, differences }
}

/** Returns the size of the source's log. */
async function compareLogs(stores: RecordStores, report: (subject: string, message: string) => void): Promise<number> {
  const [source, target] = await Promise.all([stores.from.logSize(), stores.to.logSize()])
  if (source !== target) report('log', `The source has ${source} entries, the target ${target}`)
  const at = await firstLogDifference(stores, Math.min(source, target))
  if (at !== undefined) report(`log/${at}`, 'The target has another entry there')
  return source
}

import { equalBytes } from '../bytes.ts'
import type { Key, LogAppend, RecordStore } from '../ports/index.ts'
import { readAppends, sourceOf, type CopiedRecord, type RecordSource } from './source.ts'

/** What a copy reads and the store that it fills. */
export interface CopyEnds {
  readonly from: RecordSource
  readonly to: RecordStore
}

/** A record that differs between the stores. A value is missing if that store does not have the record. */
export interface RecordDifference {
  readonly key: Key
  readonly source?: Uint8Array
  readonly target?: Uint8Array
}

/** Returns the first position at which the store does not hold these entries, which begin at position `at`. */
export async function firstDifferenceIn(
  store: RecordStore,
  at: number,
  appends: readonly LogAppend[],
): Promise<number | undefined> {
  const stored = await readAppends(store, at, appends.length)
  const index = appends.findIndex((append, i) => !isSameAppend(append, stored[i]))
  return index === -1 ? undefined : at + index
}

const isSameAppend = (a: LogAppend, b: LogAppend | undefined): boolean =>
  b !== undefined && equalBytes(a.entry, b.entry) && equalBytes(a.payload, b.payload)

/**
 * Walks both sides in key order and yields each record that differs. The caller may write a yielded record to the
 * target: the walk has passed its key. Calls `onRecord` with the number of keys read so far.
 */
export async function* recordDifferences(
  { from, to }: CopyEnds,
  onRecord: (done: number) => void,
): AsyncGenerator<RecordDifference> {
  const [sources, targets] = [from.records(), sourceOf(to).records()]
  try {
    let [source, target] = await Promise.all([nextOf(sources), nextOf(targets)])
    for (let done = 1; source !== undefined || target !== undefined; done += 1) {
      const key: Key = target === undefined || (source && source.key < target.key) ? source!.key : target.key
      const inSource: CopiedRecord | undefined = source?.key === key ? source : undefined
      const inTarget: CopiedRecord | undefined = target?.key === key ? target : undefined
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

const nextOf = async (records: AsyncGenerator<CopiedRecord, undefined>): Promise<CopiedRecord | undefined> =>
  (await records.next()).value

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
export async function compareStores(ends: CopyEnds, handlers: ComparisonHandlers): Promise<Comparison> {
  let differences = 0
  const report = (subject: string, message: string): void => {
    differences += 1
    handlers.onDifference(subject, message)
  }
  const logSize = await compareLogs(ends, report)
  let compared = logSize
  handlers.onProgress(compared)
  const onRecord = (done: number): void => handlers.onProgress((compared = logSize + done))
  for await (const { key, source, target } of recordDifferences(ends, onRecord)) {
    if (target === undefined) report(key, 'The target does not have it')
    else report(key, source === undefined ? 'The source does not have it' : 'The target has another value')
  }
  return { compared, differences }
}

/** Returns the size of the source's log. */
async function compareLogs(
  { from, to }: CopyEnds,
  report: (subject: string, message: string) => void,
): Promise<number> {
  const [source, target] = await Promise.all([from.logSize(), to.logSize()])
  if (source !== target) report('log', `The source has ${source} entries, the target ${target}`)
  const common = Math.min(source, target)
  let at = 0
  for await (const chunk of from.log()) {
    if (at >= common) return source
    const difference = await firstDifferenceIn(to, at, chunk.slice(0, common - at))
    if (difference !== undefined) {
      report(`log/${difference}`, 'The target has another entry there')
      return source
    }
    at += chunk.length
  }
  return source
}

import { encodeUtf8, equalBytes } from '../../core/bytes.ts'
import { LOG_ENTRY_BYTES } from '../../core/store/commit-plan.ts'
import { RegistryError } from '../../core/errors.ts'
import { keys } from '../../core/store/keys.ts'
import { logKeys } from '../../core/log/keys.ts'
import type { Commit, Entry, Key, Range, RecordStore, Version, Write } from '../../core/ports.ts'

export interface RecordStores {
  readonly from: RecordStore
  readonly to: RecordStore
}

export type CopyStage = 'log' | 'records' | 'compare'

export interface CopyHandlers {
  /** Something that the target does not hold as the source does, at the end. */
  onDifference(place: string, message: string): void
  /** Entries and records looked at in this stage. */
  onProgress(stage: CopyStage, done: number): void
}

export interface CopyReport {
  /** Log entries that this run appended to the target. */
  readonly entries: number
  /** Records that this run wrote to, or deleted from, the target. */
  readonly records: number
  /** Entries and records that were compared at the end. */
  readonly compared: number
  readonly differences: number
}

/** An append is one statement in PostgreSQL, which ends what takes 15 s. */
const PIECE_ENTRIES = 16_384
/** A commit is held in memory, some times over; a record that is larger goes alone. */
const PAGE_BYTES = 4 * 1024 * 1024
const PAGE_WRITES = 2_048

/** Every key: printable ASCII. */
const ALL: Range = { gte: ' ', lt: '\x7f' }
/** They say something of one store only. */
const NOT_COPIED: ReadonlySet<Key> = new Set([keys.filling(), logKeys.sealerLease()])

/**
 * Copies the log and all records into another store, where log positions stay the same and versions are new, then compares every entry and
 * record. It can be stopped anywhere and begun again: a marker in the target says that it is being filled, what is there
 * already is only compared, and what has changed in the source meanwhile is brought up to date. The marker goes when all is equal. The
 * source is only read.
 *
 * Nobody else may write to either. Throws `CONFIG_ERROR` for a source that holds nothing or is such a copy itself, and for a target
 * that holds something else, which is left as it was; else what the stores throw.
 */
export async function copyRecords(stores: RecordStores, handlers: CopyHandlers): Promise<CopyReport> {
  await assertWhole(stores.from)
  const target = await FilledStore.open(stores.to)
  // Not ours to write to: either an earlier run finished it, or it is another store.
  if (target === undefined) return assertSame(stores, handlers)
  const entries = await copyLog(stores, target, handlers)
  const records = await copyEntries(stores, target, handlers)
  const comparison = await compare(stores, handlers)
  if (comparison.differences === 0) await target.finish()
  return { entries, records, ...comparison }
}

/** The target while it is filled. Each commit checks and renews the marker, so that of two who fill one store one fails. */
class FilledStore {
  readonly #store: RecordStore
  #version: Version | null

  private constructor(store: RecordStore, version: Version | null) {
    this.#store = store
    this.#version = version
  }

  /** `undefined` for a store that holds something and no marker. */
  static async open(store: RecordStore): Promise<FilledStore | undefined> {
    const [marker] = await store.get([keys.filling()])
    if (marker === undefined && !(await isEmpty(store))) return undefined
    const filled = new FilledStore(store, marker?.version ?? null)
    if (marker === undefined) await filled.commit({})
    return filled
  }

  async commit({ writes = [], append }: Pick<Commit, 'writes' | 'append'>): Promise<void> {
    await this.#commit({ writes: [...writes, { key: keys.filling(), value: MARKER }], ...(append && { append }) })
  }

  async finish(): Promise<void> {
    await this.#commit({ writes: [{ key: keys.filling(), value: null }] })
  }

  async #commit(commit: Commit): Promise<void> {
    const result = await this.#store.commit({ ...commit, checks: [{ key: keys.filling(), version: this.#version }] })
    if (!result.ok)
      throw new RegistryError('UNAVAILABLE', 'Somebody else writes to the target: end that, then begin this again')
    this.#version = result.version
  }
}

/** For people who look into the store. */
const MARKER = encodeUtf8('{"filling":true}')

async function isEmpty(store: RecordStore): Promise<boolean> {
  for await (const _ of store.list({ ...ALL, limit: 1 })) return false
  return (await store.logSize()) === 0
}

async function assertWhole(source: RecordStore): Promise<void> {
  const [marker] = await source.get([keys.filling()])
  if (marker !== undefined)
    throw new RegistryError('CONFIG_ERROR', 'The source is an unfinished copy itself: finish that one first')
  if (await isEmpty(source))
    throw new RegistryError('CONFIG_ERROR', 'The source holds nothing: name the store where the registry is')
}

/** Answers how many entries it appended. */
async function copyLog({ from, to }: RecordStores, target: FilledStore, handlers: CopyHandlers): Promise<number> {
  const [size, found] = [await from.logSize(), await to.logSize()]
  if (found > size || (await firstDifference({ from, to }, found)) !== undefined) throw holdsSomethingElse()
  for (let at = found; at < size;) {
    const append = await from.readLog(at, Math.min(PIECE_ENTRIES, size - at))
    if (append.length === 0)
      throw new RegistryError('CORRUPT', `The source's log of ${size} entries ends at ${at}: check it with fsck`)
    await target.commit({ append })
    at += append.length / LOG_ENTRY_BYTES
    handlers.onProgress('log', at)
  }
  return size - found
}

/** The first of `count` positions where the logs differ. */
async function firstDifference({ from, to }: RecordStores, count: number): Promise<number | undefined> {
  for (let at = 0; at < count; at += PIECE_ENTRIES) {
    const length = Math.min(PIECE_ENTRIES, count - at)
    const [source, target] = await Promise.all([from.readLog(at, length), to.readLog(at, length)])
    if (source.length === length * LOG_ENTRY_BYTES && equalBytes(source, target)) continue
    for (let i = 0; i < length; i += 1) {
      const [start, end] = [i * LOG_ENTRY_BYTES, (i + 1) * LOG_ENTRY_BYTES]
      if (end > source.length || !equalBytes(source.subarray(start, end), target.subarray(start, end))) return at + i
    }
  }
  return undefined
}

/** Answers how many records it changed. */
async function copyEntries(stores: RecordStores, target: FilledStore, handlers: CopyHandlers): Promise<number> {
  let [changed, bytes] = [0, 0]
  let writes: Write[] = []
  const flush = async (): Promise<void> => {
    if (writes.length > 0) await target.commit({ writes })
    changed += writes.length
    writes = []
    bytes = 0
  }
  const onRecord = (done: number): void => handlers.onProgress('records', done)
  for await (const { key, source = null } of differences(stores, onRecord)) {
    const size = key.length + (source?.length ?? 0)
    if (writes.length === PAGE_WRITES || bytes + size > PAGE_BYTES) await flush()
    writes.push({ key, value: source })
    bytes += size
  }
  await flush()
  return changed
}

/** A record that the two do not hold alike; a value is missing where that store has none. */
interface Difference {
  readonly key: Key
  readonly source?: Uint8Array
  readonly target?: Uint8Array
}

/**
 * Walks both stores by key, side by side. Writing what it names to the target meanwhile is no harm: that lies behind the walk.
 * `onRecord` is told how many keys were seen.
 */
async function* differences({ from, to }: RecordStores, onRecord: (done: number) => void): AsyncGenerator<Difference> {
  const [sources, targets] = [copied(from), copied(to)]
  try {
    let [source, target] = await Promise.all([next(sources), next(targets)])
    for (let done = 1; source !== undefined || target !== undefined; done += 1) {
      const key: Key = target === undefined || (source && source.key < target.key) ? source!.key : target.key
      const inSource: Entry | undefined = source?.key === key ? source : undefined
      const inTarget: Entry | undefined = target?.key === key ? target : undefined
      if (inSource === undefined || inTarget === undefined || !equalBytes(inSource.value, inTarget.value))
        yield { key, ...(inSource && { source: inSource.value }), ...(inTarget && { target: inTarget.value }) }
      onRecord(done)
      if (inSource !== undefined) source = await next(sources)
      if (inTarget !== undefined) target = await next(targets)
    }
  } finally {
    await Promise.all([sources.return(undefined), targets.return(undefined)])
  }
}

async function* copied(store: RecordStore): AsyncGenerator<Entry, undefined> {
  for await (const entry of store.list(ALL)) if (!NOT_COPIED.has(entry.key)) yield entry
  return undefined
}

const next = async (entries: AsyncGenerator<Entry, undefined>): Promise<Entry | undefined> =>
  (await entries.next()).value

async function compare(
  stores: RecordStores,
  handlers: CopyHandlers,
): Promise<Pick<CopyReport, 'compared' | 'differences'>> {
  let count = 0
  const differ = (place: string, message: string): void => {
    count += 1
    handlers.onDifference(place, message)
  }
  const [size, there] = [await stores.from.logSize(), await stores.to.logSize()]
  if (size !== there) differ('log', `The source has ${size} entries, the target ${there}`)
  const at = await firstDifference(stores, Math.min(size, there))
  if (at !== undefined) differ(`log/${at}`, 'The target has another entry there')
  let compared = size
  handlers.onProgress('compare', compared)
  const onRecord = (done: number): void => handlers.onProgress('compare', (compared = size + done))
  for await (const { key, source, target } of differences(stores, onRecord)) {
    if (target === undefined) differ(key, 'The target does not have it')
    else differ(key, source === undefined ? 'The source does not have it' : 'The target has another value')
  }
  return { compared, differences: count }
}

/** Throws `CONFIG_ERROR` at the first difference. */
async function assertSame(stores: RecordStores, handlers: CopyHandlers): Promise<CopyReport> {
  const comparison = await compare(stores, {
    onDifference() {
      throw holdsSomethingElse()
    },
    onProgress: (stage, done) => handlers.onProgress(stage, done),
  })
  return { entries: 0, records: 0, ...comparison }
}

const holdsSomethingElse = (): RegistryError =>
  new RegistryError(
    'CONFIG_ERROR',
    'The target holds something that is not an earlier part of this copy: name an empty one',
  )

import { createHash, type Hash } from 'node:crypto'
import { RegistryError } from '../errors.ts'
import type { Commit, LogAppend, RecordStore, Write } from '../ports/index.ts'
import { keys } from '../store/keys.ts'
import { encodeRecord } from '../store/codec.ts'
import { ALL_KEYS, decodeRecords, encodeRecords, type StreamPart } from './record-stream.ts'

/** Present from the first commit of a copy to its last one. The value is for people who look into the store. */
const MARKER: Write = { key: keys.filling(), value: encodeRecord({ filling: true }) }

/** Limits of one commit, because it is held in memory several times. A larger record is written alone. */
const COMMIT_BYTES = 4 * 1024 * 1024
const COMMIT_ITEMS = 2_048

/** What a store was filled with. */
export interface FilledStore {
  /** Log entries. */
  readonly entries: number
  readonly records: number
}

/**
 * Writes a stream of `encodeRecords` to an empty store, then reads the store again and compares it with the stream. Log
 * positions stay the same, versions are new.
 *
 * A marker in the store says that it is being filled, so that no server opens it. The last commit removes it. If the
 * marker stayed, the store must be emptied before it is filled again.
 *
 * @param onProgress called with the number of log entries and records so far
 * @param last commits that are made at the end, before the marker is removed
 * @throws RegistryError `CONFIG_ERROR` if the store is not empty, which is not changed then; `CORRUPT` if it does not
 *   return what was written; what `decodeRecords` and the store throw
 */
export async function fillStore(
  stream: AsyncIterable<Uint8Array>,
  to: RecordStore,
  onProgress: (done: number) => void = () => undefined,
  last: readonly Commit[] = [],
): Promise<FilledStore> {
  if (!(await isEmpty(to))) throw notEmpty()
  // Of two programs that fill the same store, the check stops one.
  const begun = await to.commit({ writes: [MARKER], checks: [{ key: MARKER.key, version: null }] })
  if (!begun.ok) throw notEmpty()
  const [given, stored] = [createHash('sha256'), createHash('sha256')]
  let [entries, records] = [0, 0]
  for await (const { append, writes } of commitsOf(decodeRecords(hashed(stream, given)))) {
    await to.commit({ ...(writes.length > 0 && { writes }), ...(append.length > 0 && { append }) })
    entries += append.length
    records += writes.length
    onProgress(entries + records)
  }
  for await (const chunk of encodeRecords(to)) stored.update(chunk)
  if (!stored.digest().equals(given.digest()))
    throw new RegistryError('CORRUPT', 'The target does not return what was written to it: empty it, and copy again')
  for (const commit of last) await to.commit(commit)
  await to.commit({ writes: [{ ...MARKER, value: null }] })
  return { entries, records }
}

async function* hashed(stream: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    hash.update(chunk)
    yield chunk
  }
}

/** Whether `fillStore` has begun to fill this store and has not finished. */
export async function isUnfinishedCopy(store: RecordStore): Promise<boolean> {
  const [marker] = await store.get([MARKER.key])
  return marker !== undefined
}

async function isEmpty(store: RecordStore): Promise<boolean> {
  for await (const _ of store.list({ ...ALL_KEYS, limit: 1 })) return false
  return (await store.logSize()) === 0
}

interface Filling extends Required<Pick<Commit, 'writes' | 'append'>> {
  readonly writes: Write[]
  readonly append: LogAppend[]
}

async function* commitsOf(parts: AsyncIterable<StreamPart>): AsyncGenerator<Filling> {
  let commit: Filling = { writes: [], append: [] }
  let bytes = 0
  for await (const part of parts) {
    const size = sizeOf(part)
    const items = commit.writes.length + commit.append.length
    if (items >= COMMIT_ITEMS || (items > 0 && bytes + size > COMMIT_BYTES)) {
      yield commit
      commit = { writes: [], append: [] }
      bytes = 0
    }
    if ('appends' in part) commit.append.push(...part.appends)
    else commit.writes.push(part)
    bytes += size
  }
  yield commit
}

const sizeOf = (part: StreamPart): number =>
  'appends' in part
    ? part.appends.reduce((sum, { entry, payload }) => sum + entry.length + payload.length, 0)
    : part.key.length + part.value.length

const notEmpty = (): RegistryError =>
  new RegistryError('CONFIG_ERROR', 'The target holds an interrupted copy, or another registry: name an empty store')

import assert from 'node:assert/strict'
import type {
  Commit,
  CommitResult,
  Stored,
  Key,
  LogAppend,
  Range,
  RecordStore,
  Version,
} from '../../adapters/kit/index.ts'

/** The store under test. */
export interface OpenedRecordStore {
  /** An empty store. The suite closes it. */
  readonly store: RecordStore
  /** A second store over the same data, if the adapter supports that: races then use both. The suite closes it. */
  readonly peer?: RecordStore
  /**
   * Opens the same data again, after the suite has closed `store` and `peer`. Required unless the store is volatile.
   */
  readonly reopen?: () => Promise<OpenedRecordStore>
  /**
   * Changes one byte of the stored value of this key, as a failing disk would. The suite calls it after it has closed
   * `store` and `peer`, and then calls `reopen`. Without it, the suite skips the test that damage is detected.
   */
  readonly damage?: (key: Key) => Promise<void>
}

/** Returns the text as UTF-8. */
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
/** Returns the value of an entry as text. */
export const text = (entry: Stored | undefined): string | undefined => entry && new TextDecoder().decode(entry.value)
/** Returns the value of an entry as a counter. */
export const counter = (entry: Stored | undefined): bigint | undefined =>
  entry && Buffer.from(entry.value).readBigInt64BE()
/** A version that no store assigns. */
export const UNKNOWN_VERSION = 'none' as Version

/** Returns `count` log entries, packed. Entries of different positions differ. */
export function logEntries(from: number, count: number): Uint8Array {
  const out = Buffer.alloc(count * 32)
  for (let i = 0; i < count; i += 1) {
    out.writeBigUInt64BE(BigInt(from + i), i * 32)
    out.fill(`entry ${from + i}`, i * 32 + 8, i * 32 + 32)
  }
  return new Uint8Array(out)
}

/** Returns the appends of packed log entries, each with the payload `payloadOf`. */
export const appendsOf = (packed: Uint8Array): readonly LogAppend[] =>
  Array.from({ length: packed.length / 32 }, (_, i) => {
    const entry = packed.slice(i * 32, (i + 1) * 32)
    return { entry, payload: payloadOf(entry) }
  })

/** Returns `count` appends; their entries are those of `logEntries`. */
export const logAppends = (from: number, count: number): readonly LogAppend[] => appendsOf(logEntries(from, count))

/** A payload that follows from the entry: 1 to 300 bytes, and every 64th one has 4,096. */
export function payloadOf(entry: Uint8Array): Uint8Array {
  const seed = Buffer.from(entry).readUInt32BE(4) + (entry[0] ?? 0)
  return new Uint8Array(seed % 64 === 63 ? 4_096 : 1 + ((seed * 37) % 300)).fill(seed % 251)
}

/** Returns all entries of a range. */
export async function listAll(store: Pick<RecordStore, 'list'>, range: Range): Promise<Stored[]> {
  const entries: Stored[] = []
  for await (const entry of store.list(range)) entries.push(entry)
  return entries
}

/** The range of all keys that begin with a prefix, which ends with a slash. */
export const below = (prefix: string): Range => ({ gte: prefix, lt: `${prefix.slice(0, -1)}0` })

/** The store under test and its peer, which is the store itself if the adapter has none. */
export class RecordStorePair {
  #opened: OpenedRecordStore | undefined

  constructor(opened?: OpenedRecordStore) {
    this.#opened = opened
  }

  /** Sets the store to test. */
  use(opened: OpenedRecordStore): void {
    this.#opened = opened
  }

  get opened(): OpenedRecordStore {
    assert.ok(this.#opened, 'the store was not opened')
    return this.#opened
  }

  get store(): RecordStore {
    return this.opened.store
  }

  get peer(): RecordStore {
    return this.opened.peer ?? this.store
  }

  async close(): Promise<void> {
    await this.store.close()
    if (this.peer !== this.store) await this.peer.close()
  }

  /** Runs a commit that must be applied. */
  async commitOk(commit: Commit): Promise<{ readonly version: Version; readonly firstPosition: number }> {
    const result = await this.store.commit(commit)
    assert.ok(result.ok, `conflict: ${JSON.stringify(result)}`)
    return result
  }

  /** Writes one text, or deletes it (`null`). Returns the version. */
  async put(key: Key, value: string | null): Promise<Version> {
    return (await this.commitOk({ writes: [{ key, value: value === null ? null : bytes(value) }] })).version
  }

  /** Writes each key as its own value. */
  async putAll(keys: readonly Key[]): Promise<Version> {
    return (await this.commitOk({ writes: keys.map((key) => ({ key, value: bytes(key) })) })).version
  }

  /** Commits all at the same time, alternating between the store and its peer. */
  commitAll(commits: readonly Commit[]): Promise<CommitResult[]> {
    return Promise.all(commits.map((commit, i) => (i % 2 === 0 ? this.store : this.peer).commit(commit)))
  }

  async getOne(key: Key): Promise<Stored | undefined> {
    const [entry] = await this.store.get([key])
    return entry
  }

  /** The payloads of the log, in arrays that `assert.deepEqual` can compare. */
  async payloads(from: number, count: number): Promise<Uint8Array[]> {
    return (await this.store.readPayloads(from, count)).map((payload) => new Uint8Array(payload))
  }

  listAll(range: Range): Promise<Stored[]> {
    return listAll(this.store, range)
  }

  /** Returns all entries whose keys begin with a prefix, which ends with a slash. */
  listBelow(prefix: string): Promise<Stored[]> {
    return listAll(this.store, below(prefix))
  }

  async keysOf(range: Range): Promise<Key[]> {
    return (await listAll(this.store, range)).map(({ key }) => key)
  }
}

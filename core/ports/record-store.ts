/**
 * Printable ASCII, at most 2,048 characters, ordered bytewise. An adapter treats keys as opaque; only
 * `core/store/keys.ts` and `core/log/keys.ts` build them.
 */
export type Key = string

/**
 * Opaque token of one committed state of a key. Compare versions for equality only. A store never uses a version
 * twice, also not after the key was deleted. Only keys with an empty value all have the same version: a check of one
 * says that it exists.
 */
export type Version = string & { readonly __brand: 'Version' }

/** A stored key with its value. */
export interface Stored {
  readonly key: Key
  /** Of a counter: its value in 8 bytes, big-endian, two's complement. */
  readonly value: Uint8Array
  readonly version: Version
}

/** Which keys `list` returns. */
export interface Range {
  /** First key, inclusive. */
  readonly gte: Key
  /** End, exclusive. */
  readonly lt: Key
  /** Descending order. Default false. */
  readonly reverse?: boolean
  /** Maximum number of entries. Default: no limit. */
  readonly limit?: number
  /** The caller uses only the keys, so a store need not read values and versions. Default false. */
  readonly keysOnly?: boolean
}

/** A condition of a commit. */
export interface Check {
  readonly key: Key
  /** The version that the key must have, `null` if it must not exist. Counters are keys too. */
  readonly version: Version | null
}

export interface Write {
  readonly key: Key
  /** `null` deletes the key. Deleting a key that does not exist is not an error. */
  readonly value: Uint8Array | null
  /**
   * Index of an entry in `append`. Behind the value, the store writes the position that this entry gets in the log, as
   * 8 bytes, big-endian. Default: the value is stored as it is.
   */
  readonly positionOf?: number
}

/** An addition to a 64-bit counter. It never conflicts with other additions, but changes the counter's version. */
export interface Add {
  readonly key: Key
  /** A safe integer, also negative. A counter that does not exist starts at 0. */
  readonly delta: number
}

/** One atomic step: all of it is applied, or nothing. */
export interface Commit {
  /** All of them must hold, or nothing is applied. */
  readonly checks?: readonly Check[]
  /** A key appears at most once among `writes` and `adds` together. */
  readonly writes?: readonly Write[]
  readonly adds?: readonly Add[]
  /** Log entries. They are appended in this order at consecutive positions. */
  readonly append?: readonly LogAppend[]
}

/** A log entry, and the bytes that are stored with it under its position. */
export interface LogAppend {
  /** 32 bytes. */
  readonly entry: Uint8Array
  /** 1 to 16,384 bytes. */
  readonly payload: Uint8Array
}

export type CommitResult =
  | {
      readonly ok: true
      /** The new version of every key that this commit wrote or added to. */
      readonly version: Version
      /** The size of the log before this commit: the position of its first entry. */
      readonly firstPosition: number
    }
  | {
      readonly ok: false
      /** The key of every check that did not hold. */
      readonly conflicts: readonly Key[]
    }

/** One state of a record store. Later commits do not change it. It holds resources of the store until it is closed. */
export type RecordSnapshot = Pick<RecordStore, 'list' | 'logSize' | 'readLog' | 'readPayloads' | 'close'>

/** A record store that can be read in one state while commits continue, for example to back it up. */
export interface SnapshotSource {
  /**
   * Returns the state that holds every commit that was acknowledged before the call. Close it before the store.
   *
   * @throws `UNAVAILABLE`, `CLOSED`
   */
  snapshot(): Promise<RecordSnapshot>
}

/**
 * An ordered map of key → bytes and one append-only log of 32-byte entries with their payloads, without gaps, changed
 * together. A conflict is a result; a failure throws. Stored bytes that are damaged are never returned.
 *
 * @throws `CORRUPT` if stored bytes are damaged,
 *   `UNAVAILABLE` if nothing was applied, `UNKNOWN_OUTCOME` if that could not be determined (a caller that
 * retries needs a check that fails if the first try was applied), `STORE_POISONED` after a failed write made the store
 * read-only, `CLOSED` after `close`
 */
export interface RecordStore {
  /**
   * Reads keys from one consistent snapshot.
   *
   * @returns an entry or `undefined` for each key, in the order of `keys`
   */
  get(keys: readonly Key[]): Promise<readonly (Stored | undefined)[]>
  /**
   * Yields the entries of a range in the order of their keys. The adapter reads them in pages of bounded size, as they
   * are consumed. Each page is consistent, the whole iteration need not be.
   */
  list(range: Range): AsyncIterable<Stored>
  /** Applies a commit. Atomic, serializable, and durable (synced to disk) when it resolves with `ok: true`. */
  commit(commit: Commit): Promise<CommitResult>
  /**
   * Reads log entries.
   *
   * @param from - position of the first entry
   * @param count - number of entries
   * @returns the entries, n × 32 bytes: fewer than `count` only at the end of the log
   */
  readLog(from: number, count: number): Promise<Uint8Array>
  /**
   * Reads the payloads of log entries.
   *
   * @param from - position of the first entry
   * @param count - number of entries
   * @returns the payloads in order: fewer than `count` only at the end of the log
   */
  readPayloads(from: number, count: number): Promise<readonly Uint8Array[]>
  /** The number of entries in the log. */
  logSize(): Promise<number>
  /**
   * Finds log entries.
   *
   * @param entries - 32 bytes each
   * @returns the position of each entry, `undefined` if it is not in the log. Of equal entries any of their positions.
   */
  positionsOf(entries: readonly Uint8Array[]): Promise<readonly (number | undefined)[]>
  /** Waits for running calls, then releases the store. */
  close(): Promise<void>
  /** Removes what the store's files keep of old values; `null` if they keep nothing. */
  readonly eraser: RecordEraser | null
  /** Reads the store in one state, as a backup does; `null` if it cannot. */
  readonly snapshots: SnapshotSource | null
  /** Checks the store's own files; `null` if there are none, or if their database checks what it reads. */
  readonly fileChecker: RecordFileChecker | null
  /** Whether other processes may write to the same records. */
  readonly isShared: boolean
  /** Whether a write failed, so that each commit throws `STORE_POISONED` until the store is opened again. */
  isPoisoned(): boolean
}

/**
 * Erases old values of a record store whose files keep them for a while after they were overwritten or deleted. The
 * registry calls it after a file was deleted.
 */
export interface RecordEraser {
  /**
   * Removes from the store's files everything that these keys held before their present values. Commits and reads
   * continue meanwhile. It may cost a rewrite of the files that hold the keys, so it is called at most once a minute.
   *
   * @param signal ends the wait for work that takes long; the work itself may go on
   * @returns false if a reader that was open kept old values, or may have: call it again later
   * @throws `UNAVAILABLE`, `STORE_POISONED`, `CLOSED`, or the reason of the signal
   */
  eraseHistory(keys: readonly Key[], signal?: AbortSignal): Promise<boolean>
  /**
   * Removes from the store's files the keys that no entry has any more. Called after `eraseHistory` for them. Without
   * it, opening the store removes them.
   *
   * @throws as `eraseHistory`
   */
  eraseKeys?(signal?: AbortSignal): Promise<void>
}

/** A part of a file of a record store that was checked. */
export interface CheckedPart {
  /** The name of the file, as an operator finds it. */
  readonly file: string
  readonly bytes: number
  /** The first byte of what is damaged in this part. */
  readonly damagedAt?: number
}

/** Checks the files of a record store that does not check all that it reads: a flipped bit could hide a record. */
export interface RecordFileChecker {
  /**
   * Reads all files, in parts of at most a few milliseconds. Commits and reads continue meanwhile, so a file may go. No
   * file is open between two parts, so the caller can pause there.
   */
  checkFiles(): AsyncIterable<CheckedPart>
}

import { randomBytes, randomUUID } from 'node:crypto'
import { Level } from 'level'
import { concatBytes, decodeUtf8, encodeUtf8, sha256, sha256HexOfText, toHex, u64 } from '../../core/bytes.ts'
import { keysToRead } from '../../core/store/commit-plan.ts'
import type { Commit, Key, RecordStore } from '../../core/ports.ts'

/**
 * A bare loop of what creates do to the disk and the processor, and nothing else: the same reads, the same hashes of the same
 * texts, the same records put, one sync a group; no validation, no canonical JSON, no salts, no keys to build, no checks, no
 * promises. What they are is not written down here but recorded from real creates, so that it stays true when the registry
 * changes. It uses every trick that made the registry faster.
 */

/**
 * `records`: texts are encoded before they are hashed, records before they are put. `bytes`: all that was done before. `lookups`: as
 * `records`, and the place is looked up by its names each time, as a program does that remembers nothing.
 */
export type BareInput = 'records' | 'bytes' | 'lookups'

/** A text that was hashed, and the tag and salt before it. */
export interface HashedText {
  readonly before: Uint8Array
  readonly text: string
}

/** What one real create asked of its store, and what it hashed. */
export interface RecordedCreate {
  /** The keys of each read, before the commit. */
  readonly gets: readonly (readonly Key[])[]
  /** Those by which the place was found when it was not known. */
  readonly lookups: readonly (readonly Key[])[]
  readonly commit: Commit
  /** Every text that was hashed. */
  readonly hashed: readonly HashedText[]
  /** What is this create's own in its keys: external id, id, txId. */
  readonly own: readonly string[]
}

/** A store that writes down what is asked of it, while `recording` is set. */
export class RecordingStore implements RecordStore {
  readonly #records: RecordStore
  recording: { gets: (readonly Key[])[]; commits: Commit[] } | undefined

  constructor(records: RecordStore) {
    this.#records = records
  }

  get(keys: readonly Key[]) {
    this.recording?.gets.push(keys)
    return this.#records.get(keys)
  }

  commit(commit: Commit) {
    this.recording?.commits.push(commit)
    return this.#records.commit(commit)
  }

  list(...args: Parameters<RecordStore['list']>) {
    return this.#records.list(...args)
  }

  readLog(from: number, count: number) {
    return this.#records.readLog(from, count)
  }

  logSize() {
    return this.#records.logSize()
  }

  positionsOf(entries: readonly Uint8Array[]) {
    return this.#records.positionsOf(entries)
  }

  close() {
    return this.#records.close()
  }
}

interface BarePut {
  readonly key: Key
  /** With the 8 bytes that the store puts before each value. */
  readonly bytes: Uint8Array
  /** What the value is the JSON of, where it is JSON. */
  readonly record: object | undefined
}

/** A recorded create with keys of its own, made before the clock runs. */
interface Unit {
  readonly gets: readonly (readonly Key[])[]
  readonly lookups: readonly (readonly Key[])[]
  readonly decides: readonly Key[]
  readonly puts: readonly BarePut[]
  readonly counters: readonly Key[]
  readonly hashed: readonly (HashedText & { readonly bytes: Uint8Array })[]
  readonly position: Uint8Array
}

const BY_TEXT = { keyEncoding: 'utf8', valueEncoding: 'view' } as const
const BY_BYTES = { keyEncoding: 'view', valueEncoding: 'view' } as const
const POSITION = encodeUtf8('\0pos')

export class BareCreates {
  readonly #db: Level<string, Uint8Array>
  readonly #recorded: readonly RecordedCreate[]
  #made = 0
  #logged = 0

  private constructor(db: Level<string, Uint8Array>, recorded: readonly RecordedCreate[]) {
    this.#db = db
    this.#recorded = recorded
  }

  /** `shared`: the records that creates read and do not write, as the registry has them. */
  static async open(
    folder: string,
    recorded: readonly RecordedCreate[],
    shared: ReadonlyMap<Key, Uint8Array>,
  ): Promise<BareCreates> {
    const db = new Level<string, Uint8Array>(folder, BY_TEXT)
    await db.open()
    const batch = db.batch()
    for (const [key, value] of shared) batch.put(key, value)
    await batch.write({ sync: true })
    return new BareCreates(db, recorded)
  }

  close(): Promise<void> {
    return this.#db.close()
  }

  /** Seconds for `count` creates in groups of `width`, each group one synced batch. */
  async run(count: number, width: number, input: BareInput): Promise<number> {
    let ms = 0
    for (let at = 0; at < count; at += width) {
      const units = Array.from({ length: Math.min(width, count - at) }, () => this.#unit())
      const begun = performance.now()
      await this.#group(units, input)
      ms += performance.now() - begun
    }
    return ms / 1_000
  }

  async #group(units: readonly Unit[], input: BareInput): Promise<void> {
    const db = this.#db
    for (const { gets, lookups, hashed } of units) {
      for (const keys of input === 'lookups' ? [...lookups, ...gets] : gets)
        for (const key of keys) db.getSync(key, BY_TEXT)
      for (const { before, text, bytes } of hashed) {
        if (input === 'bytes') sha256(bytes)
        else sha256HexOfText(text, before)
      }
    }
    const decides = [...new Set(units.flatMap((unit) => unit.decides))]
    for (const key of decides) db.getSync(key, BY_TEXT)
    for (const { position } of units) db.getSync<Uint8Array, Uint8Array>(position, BY_BYTES)
    const batch = db.batch()
    batch.put('\0head', randomBytes(33))
    for (const key of new Set(units.flatMap(({ counters }) => counters))) batch.put(key, new Uint8Array(16))
    for (const { puts, position } of units) {
      for (const put of puts) batch.put(put.key, input === 'bytes' ? put.bytes : encoded(put))
      batch.put(position, u64(this.#logged++), BY_BYTES)
    }
    const row = `\0log${this.#logged.toString(16).padStart(14, '0')}`
    batch.put(row, randomBytes(32 * units.length))
    await batch.write({ sync: true })
  }

  #unit(): Unit {
    const made = this.#made++
    const recorded = this.#recorded[made % this.#recorded.length] as RecordedCreate
    const entry = randomBytes(32)
    const names = [`bare ${made}`, idAt(Date.now()), toHex(entry)]
    const renamed = (key: Key): Key => recorded.own.reduce((out, own, i) => out.replace(own, names[i] as string), key)
    const { writes = [], adds = [] } = recorded.commit
    return {
      gets: recorded.gets.map((keys) => keys.map(renamed)),
      lookups: recorded.lookups,
      decides: keysToRead(recorded.commit).map(renamed),
      puts: writes.map(({ key, value }) => ({
        key: renamed(key),
        bytes: withVersion(value ?? new Uint8Array()),
        record: value?.[0] === OPENING_BRACE ? (JSON.parse(decodeUtf8(value)) as object) : undefined,
      })),
      counters: adds.map(({ key }) => key),
      hashed: recorded.hashed.map(({ before, text }) => ({
        before,
        text,
        bytes: concatBytes(before, encodeUtf8(text)),
      })),
      position: Buffer.concat([POSITION, entry]),
    }
  }
}

const VERSION = new Uint8Array(8)
const OPENING_BRACE = 0x7b

const withVersion = (value: Uint8Array): Uint8Array => concatBytes(VERSION, value)

const encoded = ({ record, bytes }: BarePut): Uint8Array =>
  record === undefined ? bytes : withVersion(encodeUtf8(JSON.stringify(record)))

/** Ids that rise, as the registry's do. */
const idAt = (ms: number): string => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

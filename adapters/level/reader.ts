import type { Entry, Key } from '../kit/index.ts'
import { EntryCache } from './entry-cache.ts'
import { toRegistryError } from './errors.ts'
import { BY_TEXT, decodePosition, decodeRecordValue, type LevelDatabase } from './layout.ts'

/** Values of keys that were read, in the order of the keys. */
type Values = (Uint8Array | undefined)[]

/**
 * Reads records and log positions from an open database, on this thread if the database can (`getSync`): 1 µs for a key
 * whose block is cached, where a `getMany` takes 10 to 20 µs and waits behind whatever else the event loop has to do.
 */
export class LevelReader {
  readonly #db: LevelDatabase
  readonly #cache = new EntryCache()
  /** The keys that the batch in progress changes: it was handed to the database and is not done. */
  readonly #changing = new Set<Key>()
  /** Whether the database has `getSync`. abstract-level's types do not name this part of the manifest yet. */
  readonly #hasGetSync: boolean

  constructor(db: LevelDatabase) {
    this.#db = db
    this.#hasGetSync = Reflect.get(db.supports, 'getSync') === true
  }

  /**
   * Whether `readSync` of these keys returns one state of the database: only this store writes, and it starts no write
   * between two reads. A batch in progress may take effect between them, so it may change only one of the keys.
   */
  canReadSync(keys: readonly Key[]): boolean {
    if (!this.#hasGetSync || this.#changing.size === 0) return this.#hasGetSync
    return keys.filter((key) => this.#changing.has(key)).length <= 1
  }

  /** Reads records one after the other, through the cache. Requires `canReadSync`. */
  readSync(keys: readonly Key[]): (Entry | undefined)[] {
    return keys.map((key) => (this.#changing.has(key) ? this.#getSync(key) : this.#getCached(key)))
  }

  /** Notes the keys that a batch will change, before it is handed to the database. */
  beginChange(keys: readonly Key[]): void {
    for (const key of keys) {
      this.#changing.add(key)
      this.#cache.delete(key)
    }
  }

  /** The batch is done, or has failed. */
  endChange(): void {
    this.#changing.clear()
  }

  #getCached(key: Key): Entry | undefined {
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const entry = this.#getSync(key)
    if (entry !== undefined) this.#cache.set(entry)
    return entry
  }

  #getSync(key: Key): Entry | undefined {
    try {
      return decodeOptional(key, this.#db.getSync<Key, Uint8Array>(key, BY_TEXT))
    } catch (error) {
      throw toRegistryError(error)
    }
  }

  /** Reads records from one snapshot: up to `maxSyncKeys` keys one by one on this thread, more with one `getMany`. */
  async entries(keys: readonly Key[], maxSyncKeys: number): Promise<(Entry | undefined)[]> {
    const values = await this.values(keys, maxSyncKeys)
    return keys.map((key, index) => decodeOptional(key, values[index]))
  }

  /** As `entries`, but returns the stored bytes. */
  async values(keys: readonly Key[], maxSyncKeys: number): Promise<Values> {
    if (keys.length > maxSyncKeys || !this.#hasGetSync) return this.#db.getMany<Key, Uint8Array>([...keys], BY_TEXT)
    return keys.map((key) => this.#db.getSync<Key, Uint8Array>(key, BY_TEXT))
  }

  /** Reads the positions under these keys (`positionKey`), as `values` does. */
  async positions(keys: readonly string[], maxSyncKeys: number): Promise<(number | undefined)[]> {
    const values = await this.values(keys, maxSyncKeys)
    return keys.map((key, i) => values[i] && decodePosition(key, values[i]))
  }
}

const decodeOptional = (key: Key, value: Uint8Array | undefined): Entry | undefined =>
  value && decodeRecordValue(key, value)

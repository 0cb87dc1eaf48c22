import { RegistryError } from '../errors.ts'
import type { Commit, RecordStore, Version } from '../ports/index.ts'
import { keys } from '../store/keys.ts'
import { encodeRecord } from '../store/record-codec.ts'
import { ALL_KEYS } from './source.ts'

/** The value of the marker is for people who look into the store. */
const MARKER = encodeRecord({ filling: true })

/** Tells if `copyRecords` has begun to fill this store and has not finished. */
export async function isUnfinishedCopy(store: RecordStore): Promise<boolean> {
  const [marker] = await store.get([keys.filling()])
  return marker !== undefined
}

export async function isEmpty(store: RecordStore): Promise<boolean> {
  for await (const _ of store.list({ ...ALL_KEYS, limit: 1 })) return false
  return (await store.logSize()) === 0
}

/**
 * A store while it is filled from another one. It holds a marker until the copy is complete. Each commit checks and
 * rewrites the marker, so of two programs that fill the same store one fails.
 */
export class CopyTarget {
  readonly #store: RecordStore
  #version: Version | null

  private constructor(store: RecordStore, version: Version | null) {
    this.#store = store
    this.#version = version
  }

  /** Returns `undefined` for a store that holds something but no marker. */
  static async open(store: RecordStore): Promise<CopyTarget | undefined> {
    const [marker] = await store.get([keys.filling()])
    if (marker === undefined && !(await isEmpty(store))) return undefined
    const target = new CopyTarget(store, marker?.version ?? null)
    if (marker === undefined) await target.commit({})
    return target
  }

  async commit({ writes = [], append }: Pick<Commit, 'writes' | 'append'>): Promise<void> {
    await this.#commit({ writes: [...writes, { key: keys.filling(), value: MARKER }], ...(append && { append }) })
  }

  /** Removes the marker. */
  async finish(): Promise<void> {
    await this.#commit({ writes: [{ key: keys.filling(), value: null }] })
  }

  async #commit(commit: Commit): Promise<void> {
    const result = await this.#store.commit({ ...commit, checks: [{ key: keys.filling(), version: this.#version }] })
    if (!result.ok)
      throw new RegistryError('UNAVAILABLE', 'Another program writes to the target: stop it, then run the copy again')
    this.#version = result.version
  }
}

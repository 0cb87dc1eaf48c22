import { RegistryError } from '../../core/errors.ts'
import type { BlobStore, RecordStore } from '../../core/ports/index.ts'
import { decorateBlobs, decorateRecords } from '../../core/store/decorate.ts'

/** `before`: nothing is applied. `after`: the step is applied, and only its response is lost. */
export type When = 'before' | 'after'

interface Fault {
  readonly step: number
  readonly when: When
  /** The process crashes: every later call fails. */
  readonly isCrash: boolean
}

/**
 * The stores as one process uses them. Closing them leaves the real stores open, so that another process can use them.
 * A step is a call that changes something: a commit, or the put or delete of a blob. Steps can fail, or crash the
 * process.
 */
export class CrashableProcess {
  readonly records: RecordStore
  readonly blobs: BlobStore
  /** The number of steps since the last call of `fail` or `disarm`. */
  steps = 0
  #fault: Fault | undefined
  #interleaved: (() => Promise<unknown>) | undefined
  #isCrashed = false
  #isBlobStoreDown = false

  constructor(records: RecordStore, blobs: BlobStore) {
    this.records = decorateRecords(records, {
      get: (keys) => this.#call(() => records.get(keys)),
      list: (range) => this.#list(records.list(range)),
      commit: (commit) => this.#commit(() => records.commit(commit)),
      readLog: (from, count) => this.#call(() => records.readLog(from, count)),
      readPayloads: (from, count) => this.#call(() => records.readPayloads(from, count)),
      logSize: () => this.#call(() => records.logSize()),
      positionsOf: (entries) => this.#call(() => records.positionsOf(entries)),
      close: async () => undefined,
    })
    this.blobs = decorateBlobs(blobs, {
      put: (key, body, options) => this.#changeBlob(() => blobs.put(key, body, options)),
      get: (key, range, signal) => this.#call(() => blobs.get(key, range, signal)),
      delete: (key) => this.#changeBlob(() => blobs.delete(key)),
      close: async () => undefined,
    })
  }

  /** Makes a later step fail, counted from 1 for the next one. */
  fail(step: number, when: When, isCrash = false): void {
    this.steps = 0
    this.#fault = { step, when, isCrash }
  }

  /** Runs `act` before the next commit, as if another process had been faster. */
  interleave(act: () => Promise<unknown>): void {
    this.#interleaved = act
  }

  /** While true, blobs can neither be put nor deleted. */
  set isBlobStoreDown(isDown: boolean) {
    this.#isBlobStoreDown = isDown
  }

  /** Lets all later steps succeed, and counts them from 0. */
  disarm(): void {
    this.steps = 0
    this.#fault = undefined
  }

  async #call<T>(act: () => Promise<T>): Promise<T> {
    if (this.#isCrashed) throw new RegistryError('UNAVAILABLE', 'Injected: this process has crashed')
    return act()
  }

  async *#list<T>(entries: AsyncIterable<T>): AsyncIterable<T> {
    for await (const entry of entries) yield await this.#call(async () => entry)
  }

  #commit<T>(act: () => Promise<T>): Promise<T> {
    return this.#call(async () => {
      const interleaved = this.#interleaved
      this.#interleaved = undefined
      await interleaved?.()
      return this.#step(act, 'UNKNOWN_OUTCOME')
    })
  }

  #changeBlob<T>(act: () => Promise<T>): Promise<T> {
    return this.#call(async () => {
      if (this.#isBlobStoreDown) throw new RegistryError('UNAVAILABLE', 'Injected: the blob store is down')
      return this.#step(act, 'UNAVAILABLE')
    })
  }

  /** `lostCode`: the error if the step is applied and its response is lost. */
  async #step<T>(act: () => Promise<T>, lostCode: 'UNKNOWN_OUTCOME' | 'UNAVAILABLE'): Promise<T> {
    const fault = ++this.steps === this.#fault?.step ? this.#fault : undefined
    if (fault === undefined) return act()
    if (fault.when === 'after') await act()
    this.#isCrashed = fault.isCrash
    if (fault.when === 'after') throw new RegistryError(lostCode, 'Injected: the response was lost')
    throw new RegistryError('UNAVAILABLE', 'Injected: nothing was applied')
  }
}

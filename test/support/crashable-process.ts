import { RegistryError } from '../../core/errors.ts'
import type { BlobStore, RecordStore } from '../../core/ports.ts'

/** `before`: fails with nothing applied. `after`: is applied, and the answer is lost. */
export type When = 'before' | 'after'

/**
 * The stores as one process has them: they outlive it (closing it closes none of them), and it can fail or die at any
 * of its steps. A step is what changes something: a commit, or the put or delete of a blob. A dead process does nothing
 * more.
 */
export class CrashableProcess {
  readonly records: RecordStore
  readonly blobs: BlobStore
  /** Steps since the last arming. */
  steps = 0
  #fault: { readonly step: number; readonly when: When; readonly isDeadly: boolean } | undefined
  #intrusion: (() => Promise<unknown>) | undefined
  #isDead = false
  #isBlobStoreDown = false

  constructor(records: RecordStore, blobs: BlobStore) {
    this.records = {
      get: (keys) => this.#alive(() => records.get(keys)),
      list: (range) => this.#aliveList(records.list(range)),
      commit: (commit) => this.#step(() => records.commit(commit), 'UNKNOWN_OUTCOME'),
      readLog: (from, count) => this.#alive(() => records.readLog(from, count)),
      logSize: () => this.#alive(() => records.logSize()),
      positionsOf: (entries) => this.#alive(() => records.positionsOf(entries)),
      close: async () => undefined,
    }
    this.blobs = {
      put: (key, body, options) => this.#step(() => blobs.put(key, body, options), 'UNAVAILABLE', true),
      get: (key, range, signal) => this.#alive(() => blobs.get(key, range, signal)),
      delete: (key) => this.#step(() => blobs.delete(key), 'UNAVAILABLE', true),
      close: async () => undefined,
    }
  }

  /** The `step`-th step from now (1: the next) fails, and with it the process if it is deadly. */
  fail(step: number, when: When, isDeadly = false): void {
    this.steps = 0
    this.#fault = { step, when, isDeadly }
  }

  /** Before the next commit this happens, and is waited for: somebody else was faster. */
  intrude(act: () => Promise<unknown>): void {
    this.#intrusion = act
  }

  /** While true, blobs can neither be put nor deleted. */
  set blobStoreDown(isDown: boolean) {
    this.#isBlobStoreDown = isDown
  }

  /** Nothing fails, and steps count from 0. */
  disarm(): void {
    this.steps = 0
    this.#fault = undefined
  }

  async #alive<T>(act: () => Promise<T>): Promise<T> {
    if (this.#isDead) throw new RegistryError('UNAVAILABLE', 'Injected: this process is dead')
    return act()
  }

  async *#aliveList<T>(entries: AsyncIterable<T>): AsyncIterable<T> {
    for await (const entry of entries) yield await this.#alive(async () => entry)
  }

  async #step<T>(act: () => Promise<T>, lost: 'UNKNOWN_OUTCOME' | 'UNAVAILABLE', isBlob = false): Promise<T> {
    return this.#alive(async () => {
      const intrusion = isBlob ? undefined : this.#intrusion
      if (intrusion !== undefined) {
        this.#intrusion = undefined
        await intrusion()
      }
      if (isBlob && this.#isBlobStoreDown) throw new RegistryError('UNAVAILABLE', 'Injected: the blob store is down')
      const fault = ++this.steps === this.#fault?.step ? this.#fault : undefined
      if (fault === undefined) return act()
      if (fault.when === 'after') await act()
      this.#isDead = fault.isDeadly
      if (fault.when === 'after') throw new RegistryError(lost, 'Injected: the answer was lost')
      throw new RegistryError('UNAVAILABLE', 'Injected: nothing was applied')
    })
  }
}

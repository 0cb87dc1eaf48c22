import { Counter, Histogram, Registry as MetricsRegistry } from 'prom-client'
import { decorateBlobs, decorateRecords } from '../../adapters/kit/index.ts'
import { isRegistryError, type BlobStore, type ErrorCode, type RecordStore } from '../../core/index.ts'

/** Errors that are not the fault of a store: the caller's input, or a store that was closed on purpose. */
const NOT_OF_STORES: ReadonlySet<ErrorCode> = new Set(['PAYLOAD_TOO_LARGE', 'RANGE_NOT_SATISFIABLE', 'CLOSED'])

const COMMIT_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const SEAL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const STAMP_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const ANCHOR_BUCKETS = [0.1, 1, 5, 15, 30, 60, 120, 300, 600, 1_800, 3_600]

/**
 * Measures the stores and the sealer. Create it before them, open the registry with the observed stores, and pass it to
 * `createApp`, whose `/metrics` shows it.
 *
 * @example
 * const instruments = createInstruments()
 * const registry = await openRegistry({
 *   records: instruments.observeRecords(records),
 *   blobs: instruments.observeBlobs(blobs),
 *   sealer: createSealer({ onDuration: instruments.observeStep }),
 *   signedHead,
 *   checkpointSigner,
 *   secret,
 * })
 * const app = createApp({ registry, instruments, ...options })
 */
export interface Instruments {
  /** Where the metrics are registered. */
  readonly metrics: MetricsRegistry
  /** A store that does the same, and whose commits and errors are counted. */
  observeRecords(records: RecordStore): RecordStore
  /** A store that does the same, and whose errors are counted. */
  observeBlobs(blobs: BlobStore): BlobStore
  /** Notes the duration of a step of the sealer, ms. */
  readonly observeStep: (step: 'seal' | 'stamp' | 'anchor', ms: number) => void
}

/** Creates the metrics of stores and steps, in a registry of their own. */
export function createInstruments(): Instruments {
  const metrics = new MetricsRegistry()
  const histogram = (name: string, help: string, buckets: number[]): Histogram =>
    new Histogram({ name: `evidence_${name}_duration_seconds`, help, buckets, registers: [metrics] })
  const commits = histogram('commit', 'Time until a commit of the record store is durable', COMMIT_BUCKETS)
  const steps = {
    seal: histogram('seal', 'Time to hash and commit a batch', SEAL_BUCKETS),
    stamp: histogram('stamp', 'Time until a token of a timestamp authority is stored', STAMP_BUCKETS),
    anchor: histogram('anchor', 'Time from the first transaction of an anchor to its confirmation', ANCHOR_BUCKETS),
  }
  const storeErrors = errorCounter(metrics, 'store', 'Errors of the record store, by code')
  const blobErrors = errorCounter(metrics, 'blob', 'Errors of the blob store, by code')
  return {
    metrics,
    observeRecords: (records) => observedRecords(records, commits, storeErrors),
    observeBlobs: (blobs) => observedBlobs(blobs, blobErrors),
    observeStep: (step, ms) => steps[step].observe(ms / 1_000),
  }
}

/** Counts an error, and throws it. */
type NoteError = (error: unknown) => never

function errorCounter(metrics: MetricsRegistry, store: 'store' | 'blob', help: string): NoteError {
  const name = `evidence_${store}_errors_total`
  const counter = new Counter({ name, help, labelNames: ['code'], registers: [metrics] })
  return (error) => {
    // An upload also fails with the error of its body, which is not one of the registry.
    if (isRegistryError(error) && !NOT_OF_STORES.has(error.code)) counter.inc({ code: error.code })
    throw error
  }
}

const observedRecords = (records: RecordStore, commits: Histogram, noteError: NoteError): RecordStore =>
  decorateRecords(records, {
    get: (keys) => records.get(keys).catch(noteError),
    list: (range) => observedItems(records.list(range), noteError),
    readLog: (from, count) => records.readLog(from, count).catch(noteError),
    readPayloads: (from, count) => records.readPayloads(from, count).catch(noteError),
    logSize: () => records.logSize().catch(noteError),
    positionsOf: (entries) => records.positionsOf(entries).catch(noteError),
    async commit(commit) {
      const stop = commits.startTimer()
      try {
        return await records.commit(commit)
      } catch (error) {
        return noteError(error)
      } finally {
        stop()
      }
    },
  })

const observedBlobs = (blobs: BlobStore, noteError: NoteError): BlobStore =>
  decorateBlobs(blobs, {
    put: (key, body, options) => blobs.put(key, body, options).catch(noteError),
    // Errors while a body is read are not counted: a wrapped body could not be released before its first chunk.
    get: (key, range, signal) => blobs.get(key, range, signal).catch(noteError),
    delete: (key) => blobs.delete(key).catch(noteError),
  })

/** Not a generator, because that would take a microsecond or more for each item. */
const observedItems = <T>(items: AsyncIterable<T>, noteError: NoteError): AsyncIterable<T> => ({
  [Symbol.asyncIterator]() {
    const iterator = items[Symbol.asyncIterator]()
    return {
      next: () => iterator.next().catch(noteError),
      return: async () => (await iterator.return?.().catch(noteError)) ?? { done: true, value: undefined },
    }
  },
})

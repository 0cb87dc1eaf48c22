import type { RecordStore } from '../ports/index.ts'

/**
 * A record store that does the same as another one, except for the methods that are given. It has neither
 * `eraseHistory` nor `snapshot`: pass the other store as the option `eraser`, or old values of deleted files stay.
 *
 * @example
 * const readOnly = decorateRecords(records, {
 *   commit: async () => {
 *     throw new RegistryError('UNAVAILABLE', 'These records can only be read')
 *   },
 * })
 */
export const decorateRecords = (records: RecordStore, methods: Partial<RecordStore>): RecordStore => ({
  get: (keys) => records.get(keys),
  list: (range) => records.list(range),
  commit: (commit) => records.commit(commit),
  readLog: (from, count) => records.readLog(from, count),
  readPayloads: (from, count) => records.readPayloads(from, count),
  logSize: () => records.logSize(),
  positionsOf: (entries) => records.positionsOf(entries),
  close: () => records.close(),
  ...methods,
})

import { isRegistryError } from '../../core/errors.ts'
import type { Commit, RecordStore } from '../../core/ports/index.ts'
import { appendsOf, logEntries } from '../contract/record-store-pair.ts'

/** Entries of the log of a store with `SMALL_STORE`. */
export const SMALL_LOG = 5

/** Two records, a counter and a log in two rows. */
export const SMALL_STORE: readonly Commit[] = [
  {
    writes: [
      { key: 'a/1', value: Buffer.from('first') },
      { key: 'a/2', value: new Uint8Array() },
    ],
    adds: [{ key: 'n', delta: 3 }],
    append: appendsOf(logEntries(1, 3)),
  },
  { append: appendsOf(logEntries(4, 2)) },
]

/** Each read of a store with `SMALL_STORE`, by name. A result is text that can be compared. */
export const readsOf = (store: RecordStore): readonly (readonly [name: string, () => Promise<string>])[] => [
  ...['a/1', 'a/2', 'n'].map(
    (key) =>
      [
        `get ${key}`,
        async () => JSON.stringify((await store.get([key])).map((entry) => entry && [...entry.value, entry.version])),
      ] as const,
  ),
  [
    'list',
    async () => {
      const entries: unknown[] = []
      for await (const { key, value, version } of store.list({ gte: 'a', lt: 'z' }))
        entries.push([key, [...value], version])
      return JSON.stringify(entries)
    },
  ],
  ['readLog', async () => Buffer.from(await store.readLog(0, SMALL_LOG)).toString('hex')],
  [
    'readPayloads',
    async () => (await store.readPayloads(0, SMALL_LOG)).map((payload) => Buffer.from(payload).toString('hex')).join(),
  ],
  ['logSize', async () => String(await store.logSize())],
  ...appendsOf(logEntries(1, SMALL_LOG)).map(
    ({ entry }, i) => [`positionsOf ${i}`, async () => JSON.stringify(await store.positionsOf([entry]))] as const,
  ),
]

/** The result of each read, or the code of its error. */
export async function resultsOf(store: RecordStore): Promise<ReadonlyMap<string, string>> {
  const results = new Map<string, string>()
  for (const [name, read] of readsOf(store))
    results.set(name, await read().catch((error: unknown) => (isRegistryError(error) ? error.code : String(error))))
  return results
}

/** The bytes with one bit changed, for each byte. */
export const flipsOf = (bytes: Uint8Array): readonly Uint8Array[] =>
  Array.from(bytes, (_, i) => bytes.map((byte, j) => (j === i ? byte ^ (1 << (i % 8)) : byte)))

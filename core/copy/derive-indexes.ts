import { logKeys } from '../log/keys.ts'
import { readFirst } from '../log/record-reads.ts'
import type { StampHeadRecord, StampRecord } from '../log/records.ts'
import type { Key, Range, RecordStore, Write } from '../ports/index.ts'
import { encodeCounter } from '../store/counter.ts'
import { decorateRecords } from '../store/decorate-records.ts'
import { indexEntriesOf } from '../store/evidence-index.ts'
import { isInRange, onlyKey } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import { decodeRecord, putRecord } from '../store/record-codec.ts'
import type { EvidenceRecord } from '../store/records.ts'
import type { CopyTarget } from './target.ts'

/**
 * Records that store format 1 does not have, or without a value. All of them follow from the evidences and the stamps.
 */
const DERIVED: readonly Range[] = [
  keys.allExternalIdIndex(),
  keys.allOwnerIndex(),
  keys.allUpdateIndex(),
  keys.allCompanyListings(),
  keys.allStolenListings(),
  keys.stolenCounts(),
  onlyKey(logKeys.stampHead()),
]

const isDerived = (key: Key): boolean => DERIVED.some((range) => isInRange(key, range))

/** The store as it is without its derived records, to compare it with one of format 1. */
export const withoutDerived = (store: RecordStore): RecordStore =>
  decorateRecords(store, {
    get: async (names) => (await store.get(names)).map((entry) => (entry && isDerived(entry.key) ? undefined : entry)),
    async *list(range) {
      for await (const entry of store.list(range)) if (!isDerived(entry.key)) yield entry
    },
  })

const COMMIT_WRITES = 2_048

/** Writes the derived records. Those of an earlier run are removed first. */
export async function deriveIndexes(store: RecordStore, target: CopyTarget): Promise<void> {
  await commitAll(target, obsoleteWrites(store))
  await commitAll(target, derivedWrites(store))
}

async function* obsoleteWrites(store: RecordStore): AsyncGenerator<Write> {
  for (const range of DERIVED) for await (const { key } of store.list(range)) yield { key, value: null }
}

async function* derivedWrites(store: RecordStore): AsyncGenerator<Write> {
  const stolenByCompany = new Map<string, number>()
  for await (const entry of store.list(keys.evidences())) {
    const evidence = decodeRecord<EvidenceRecord>(entry)
    const { company, stolen } = evidence
    if (stolen) stolenByCompany.set(company, (stolenByCompany.get(company) ?? 0) + 1)
    for (const indexEntry of indexEntriesOf(evidence)) if (isDerived(indexEntry.key)) yield indexEntry
  }
  for (const [company, count] of stolenByCompany)
    yield { key: keys.evidenceCount('stolen', company), value: encodeCounter(BigInt(count)) }
  const stamp = await readFirst<StampRecord>(store, { ...logKeys.stampsFrom(0), reverse: true })
  if (stamp !== undefined) yield putRecord(logKeys.stampHead(), { size: stamp.size } satisfies StampHeadRecord)
}

async function commitAll(target: CopyTarget, writes: AsyncIterable<Write>): Promise<void> {
  let waiting: Write[] = []
  for await (const write of writes) {
    if (waiting.push(write) < COMMIT_WRITES) continue
    await target.commit({ writes: waiting })
    waiting = []
  }
  if (waiting.length > 0) await target.commit({ writes: waiting })
}

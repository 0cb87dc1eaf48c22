import { equalBytes } from '../bytes.ts'
import type { Entry, Key, Range } from '../ports/index.ts'
import { countOf, encodeCounter } from '../store/counter.ts'
import { indexEntriesOf, type IndexEntry } from '../store/evidence-index.ts'
import { keysUnder, lastPartOfKey, partsOfKey } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import type { EvidenceRecord } from '../store/records.ts'
import type { Check } from './check.ts'

/**
 * Checks that every listed evidence belongs to the list that it is in, and that each list's counter has the right
 * value.
 */
export async function checkEvidenceListings(check: Check): Promise<void> {
  const counts = new ListingCounts(check)
  for await (const page of check.pages(keys.allEvidenceListings())) {
    const evidences = await checkIndexPage(check, page)
    for (const [i, { key }] of page.entries()) await counts.add(key, evidences[i])
  }
  await counts.finish()
}

const SEARCH_INDEXES: readonly Range[] = [keys.allExternalIdIndex(), keys.allOwnerIndex(), keys.allUpdateIndex()]

/** Checks that every entry of an index belongs to an evidence that has this value. */
export async function checkSearchIndexes(check: Check): Promise<void> {
  for (const range of SEARCH_INDEXES) for await (const page of check.pages(range)) await checkIndexPage(check, page)
}

/** Returns the evidence of each index entry, `undefined` if it cannot be read. */
async function checkIndexPage(check: Check, page: readonly Entry[]): Promise<readonly (EvidenceRecord | undefined)[]> {
  const entries = await check.records.get(page.map(({ key }) => keys.evidence(lastPartOfKey(key))))
  const evidences = entries.map((entry) => check.decode<EvidenceRecord>('evidence', entry))
  for (const [i, { key, value }] of page.entries()) {
    const expected = expectedEntry(check, key, evidences[i])
    const isRight = expected !== undefined && equalBytes(value, expected.value)
    const message =
      expected === undefined
        ? 'It does not list an evidence that belongs there'
        : 'It shows something else than the record of the evidence'
    check.expectDerived(isRight, { kind: 'index', key, message, repair: expected?.value ?? null })
  }
  check.progress('indexes', page.length)
  return evidences
}

/** What the index should have under a key, according to the evidence. */
const expectedEntry = (check: Check, key: Key, evidence: EvidenceRecord | undefined): IndexEntry | undefined =>
  evidence && check.guard('index', key, () => indexEntriesOf(evidence).find((entry) => entry.key === key))

/** The counters of the lists that contain an entry: the key of a counter is that of the list in another family. */
function countersOf(key: Key): readonly Key[] {
  const [, ...list] = partsOfKey(key).slice(0, -1)
  const whole = list.length > 2 ? [list.slice(0, -1)] : []
  return [...whole, list].map((parts) => ['ec', ...parts].join('/'))
}

/** Counts listings whose keys come in order, list after list, and compares each count with its counter. */
class ListingCounts {
  readonly #check: Check
  readonly #counts: { counter: Key; count: number }[] = []

  constructor(check: Check) {
    this.#check = check
  }

  async add(key: Key, evidence: EvidenceRecord | undefined): Promise<void> {
    const counters = countersOf(key)
    for (const [i, counter] of counters.entries()) {
      const current = this.#counts[i]
      if (current?.counter === counter) current.count += 1
      else {
        if (current !== undefined) await this.#compare(current)
        this.#counts[i] = { counter, count: 1 }
        if (i === 1 && evidence !== undefined)
          await this.#check.guardAsync('category', counter, () => this.#expectSubcategory(evidence))
      }
    }
    for (const ended of this.#counts.splice(counters.length)) await this.#compare(ended)
  }

  /** Compares the last counts, and checks that every counter without a listing is 0. */
  async finish(): Promise<void> {
    for (const ended of this.#counts) await this.#compare(ended)
    for await (const page of this.#check.pages(keys.evidenceCounts()))
      for (const entry of page)
        if (await this.#isEmpty(keysUnder(`el${entry.key.slice('ec'.length)}`)))
          expectCount(this.#check, entry.key, entry, 0)
  }

  async #expectSubcategory({ company, subcategoryId }: EvidenceRecord): Promise<void> {
    const key = keys.category(company, subcategoryId)
    const exists = (await this.#check.get(key)) !== undefined
    this.#check.expect(exists, 'category', key, 'It is missing, but evidences belong to it')
  }

  async #isEmpty(range: Range): Promise<boolean> {
    for await (const _ of this.#check.records.list({ ...range, limit: 1 })) return false
    return true
  }

  async #compare({ counter, count }: { readonly counter: Key; readonly count: number }): Promise<void> {
    expectCount(this.#check, counter, await this.#check.get(counter), count)
  }
}

/** Checks that a counter has the value `count`. Without an entry its value is 0. */
export function expectCount(check: Check, key: Key, entry: Entry | undefined, count: number): void {
  const stored = storedCount(entry)
  const message = `It is ${stored ?? 'not a number'}, but there are ${count}`
  check.expectDerived(stored === count, { kind: 'counter', key, message, repair: encodeCounter(BigInt(count)) })
}

/** Returns `undefined` if the value is not that of a counter. */
function storedCount(entry: Entry | undefined): number | undefined {
  try {
    return countOf(entry)
  } catch {
    return undefined
  }
}

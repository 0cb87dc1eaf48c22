import { equalBytes } from '../bytes.ts'
import type { Entry, Key, Range } from '../ports/index.ts'
import { countOf, encodeCounter } from '../store/counter.ts'
import { indexEntriesOf, type IndexEntry } from '../store/evidence-index.ts'
import { lastPartOfKey, partsOfKey } from '../store/key.ts'
import { keys, type ListKind } from '../store/keys.ts'
import type { EvidenceRecord } from '../store/records.ts'
import type { Check } from './check.ts'

/**
 * Checks that every listed evidence belongs to the list that it is in, and that each list's counter has the right
 * value. Holds a number for each category.
 */
export async function checkEvidenceListings(check: Check): Promise<void> {
  const counts = new ListingCounts(check)
  for await (const page of check.pages(keys.allEvidenceListings())) {
    const evidences = await checkIndexPage(check, page)
    for (const [i, { key }] of page.entries()) await counts.add(listOfKey(key), evidences[i])
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

/** The list of a company, a category, a subcategory, or of the stolen evidences of a company. */
interface ListId {
  readonly kind: ListKind
  readonly id: string
}

/** The list in the key of an entry or of its counter. No other kind of list is ever written. */
function listOfKey(key: Key): ListId {
  const [, kind = '', id = ''] = partsOfKey(key)
  return { kind: kind as ListKind, id }
}

/**
 * Counts listings whose keys come in order, list after list, and compares each count with its counter. The evidences
 * of a category are those of its subcategories.
 */
class ListingCounts {
  readonly #check: Check
  #counter: Key | undefined
  #count = 0
  readonly #inCategories = new Map<string, number>()

  constructor(check: Check) {
    this.#check = check
  }

  async add({ kind, id }: ListId, evidence: EvidenceRecord | undefined): Promise<void> {
    const counter = keys.evidenceCount(kind, id)
    if (counter !== this.#counter) {
      await this.#compare()
      this.#counter = counter
      this.#count = 0
      if (kind === 'subcategory' && evidence?.categoryId !== undefined)
        await this.#check.guardAsync('category', counter, () => this.#expectSubcategory(evidence))
    }
    this.#count += 1
    if (kind === 'subcategory' && evidence?.categoryId !== undefined)
      this.#inCategories.set(evidence.categoryId, (this.#inCategories.get(evidence.categoryId) ?? 0) + 1)
  }

  /** Compares the last count, and checks that every counter without a listing is 0. */
  async finish(): Promise<void> {
    await this.#compare()
    for (const [id, count] of this.#inCategories) {
      const key = keys.evidenceCount('category', id)
      expectCount(this.#check, key, await this.#check.get(key), count)
    }
    for await (const page of this.#check.pages(keys.evidenceCounts()))
      for (const entry of page) {
        const { kind, id } = listOfKey(entry.key)
        const isEmpty =
          kind === 'category' ? !this.#inCategories.has(id) : await this.#isEmpty(keys.evidencesIn(kind, id))
        if (isEmpty) expectCount(this.#check, entry.key, entry, 0)
      }
  }

  async #expectSubcategory({ company, subcategoryId }: EvidenceRecord): Promise<void> {
    const key = keys.subcategory(company, subcategoryId)
    const exists = (await this.#check.get(key)) !== undefined
    this.#check.expect(exists, 'category', key, 'It is missing, but evidences belong to it')
  }

  async #isEmpty(range: Range): Promise<boolean> {
    for await (const _ of this.#check.records.list({ ...range, limit: 1 })) return false
    return true
  }

  async #compare(): Promise<void> {
    if (this.#counter === undefined) return
    expectCount(this.#check, this.#counter, await this.#check.get(this.#counter), this.#count)
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

import { equalBytes } from '../../bytes.ts'
import type { Stored, Key, Range } from '../../ports/index.ts'
import type { Check } from './check.ts'
import type { DifferenceKind, Family } from './families.ts'
import { pagesOf } from './pages.ts'
import { encodeCounter, countOf } from '../../store/counter.ts'
import { COUNTED, DERIVED, derivedFrom, type CountedFamily, type DerivedFamily } from '../../store/derived.ts'
import type { DerivedEntry } from '../../store/entries.ts'
import { isInRange, type KeyedHash } from '../../store/keys.ts'
import { listEntries } from '../../store/read.ts'

/**
 * Compares names, lists, indexes and counters with the records from which they follow, in both directions. Takes all
 * records of the store in the order of the keys.
 */
export class ListCheck {
  readonly #check: Check
  readonly #hash: KeyedHash
  /** By the beginning of their keys, with how many entries there are, and how many follow from records. */
  readonly #indexes = new Map(DERIVED.map((family) => [family.range.gte, { family, found: 0, expected: 0 }]))
  readonly #lists: readonly Counting[]

  constructor(check: Check, hash: KeyedHash) {
    this.#check = check
    this.#hash = hash
    this.#lists = COUNTED.map((family) => new Counting(check, family))
  }

  async add({ range, kind }: Family, page: readonly Stored[]): Promise<void> {
    if (kind === 'counter') return this.#addCounters(page)
    const index = this.#indexes.get(range.gte)
    if (index === undefined) await this.#expectEntries(kind, page)
    else index.found += page.length
    for (const list of this.#lists) if (list.family.lists.gte === range.gte) await list.addAll(page)
  }

  /** Forwards: checks that all entries that follow from these records are there, with the right values. */
  async #expectEntries(kind: DifferenceKind, page: readonly Stored[]): Promise<void> {
    const expected = page.flatMap(
      (record) => this.#check.guard(kind, record.key, () => derivedFrom(record, this.#hash)) ?? [],
    )
    for (const { key } of expected) {
      const index = this.#indexes.get(key.slice(0, key.indexOf('/') + 1))
      if (index !== undefined) index.expected += 1
    }
    await compareEntries(this.#check, 'index', expected)
  }

  /** The counter of a list that has become empty stays, and is 0. Others are compared with their lists. */
  async #addCounters(page: readonly Stored[]): Promise<void> {
    for (const entry of page) {
      const list = COUNTED.find(({ counters }) => isInRange(entry.key, counters))
      if (list !== undefined && (await isEmpty(this.#check, list.countedBy(entry.key))))
        expectCount(this.#check, entry.key, { entry, count: 0 })
    }
  }

  /**
   * Backwards: checks that each entry follows from a record. Forwards its value was compared. So as long as nothing
   * differs, a family with as many entries as were found forwards has no others, and only their number is read.
   */
  async finish(): Promise<void> {
    for (const list of this.#lists) await list.finish()
    const isIntact = this.#check.differences === 0
    for (const { family, found, expected } of this.#indexes.values())
      if (!isIntact || found !== expected) await this.#checkOwners(family)
  }

  async #checkOwners({ range, ownerOf, isLossNoticed }: DerivedFamily): Promise<void> {
    const check = this.#check
    for await (const page of pagesOf(check, range)) {
      const entries = page.flatMap((entry) => {
        const owner = check.guard('index', entry.key, () => ownerOf(entry))
        return owner === undefined ? [] : [{ key: entry.key, owner }]
      })
      const records = await check.records.get(entries.map(({ owner }) => owner))
      for (const [i, { key, owner }] of entries.entries()) {
        const record = records[i]
        if (record !== undefined && this.#derivedOrNone(record).some((entry) => entry.key === key)) continue
        // An entry without its record may be all that is left of it.
        const repair = record !== undefined || isLossNoticed ? null : undefined
        check.report('index', key, `It does not follow from ${owner}`, repair)
      }
    }
  }

  /** What follows from a record; nothing if it lacks a member, which is reported with the record. */
  #derivedOrNone(record: Stored): readonly DerivedEntry[] {
    try {
      return derivedFrom(record, this.#hash)
    } catch {
      return []
    }
  }
}

/** Checks that these entries are stored with these values. */
export async function compareEntries(
  check: Check,
  kind: DifferenceKind,
  expected: readonly DerivedEntry[],
): Promise<void> {
  const stored = await check.records.get(expected.map(({ key }) => key))
  for (const [i, { key, value }] of expected.entries()) {
    const entry = stored[i]
    if (entry === undefined) check.report(kind, key, 'It is missing', value)
    else if (!equalBytes(entry.value, value)) check.report(kind, key, 'It differs from what it follows from', value)
  }
}

async function isEmpty(check: Check, range: Range): Promise<boolean> {
  return (await listEntries(check.records, { ...range, limit: 1 })).length === 0
}

interface Count {
  readonly counter: Key
  count: number
}

/** Counts lists whose entries come in the order of their keys. */
class Counting {
  readonly family: CountedFamily
  readonly #check: Check
  /** Of the current list, and of the lists that contain it. */
  #current: readonly Count[] = []
  #list = ''

  constructor(check: Check, family: CountedFamily) {
    this.#check = check
    this.family = family
  }

  /** The keys of a page. */
  async addAll(page: readonly Stored[]): Promise<void> {
    for (const { key } of page) {
      const list = this.family.listOf(key)
      if (list !== this.#list) await this.#begin(key)
      this.#list = list
      for (const count of this.#current) count.count += 1
    }
  }

  async #begin(key: Key): Promise<void> {
    const current = this.family
      .countersOf(key)
      .map((counter) => this.#current.find((each) => each.counter === counter) ?? { counter, count: 0 })
    for (const count of this.#current) if (!current.includes(count)) await this.#compare(count)
    this.#current = current
  }

  async finish(): Promise<void> {
    for (const count of this.#current) await this.#compare(count)
    this.#current = []
  }

  async #compare({ counter, count }: Count): Promise<void> {
    expectCount(this.#check, counter, { entry: await this.#check.get(counter), count })
  }
}

interface CountToCheck {
  /** Of the counter. Without an entry its value is 0. */
  readonly entry: Stored | undefined
  /** What it must be. */
  readonly count: number
}

function expectCount(check: Check, key: Key, { entry, count }: CountToCheck): void {
  const stored = storedCount(entry)
  if (stored === count) return
  const message = `It is ${stored ?? 'not a number'}, but there are ${count}`
  check.report('counter', key, message, encodeCounter(BigInt(count)))
}

/** Returns `undefined` if the value is not that of a counter. */
function storedCount(entry: Stored | undefined): number | undefined {
  try {
    return countOf(entry)
  } catch {
    return undefined
  }
}

import { equalBytes } from '../bytes.ts'
import type { Stored, Key, Range } from '../ports/index.ts'
import { encodeCounter, countOf } from '../store/counter.ts'
import { type DerivedEntry } from '../store/entries.ts'
import { COUNTED, DERIVED, derivedFrom, type CountedFamily, type DerivedFamily } from '../store/derived.ts'
import { type Check, differenceKindOf } from './check.ts'

/** Forwards: checks that all entries that follow from these records are there, with the right values. */
export async function expectDerived(check: Check, records: readonly Stored[]): Promise<void> {
  const expected = records.flatMap(
    (record) => check.guard(differenceKindOf(record.key), record.key, () => derivedFrom(record)) ?? [],
  )
  await expectEntries(check, expected)
}

/** Checks that these entries are stored with these values. */
export async function expectEntries(check: Check, expected: readonly DerivedEntry[]): Promise<void> {
  const stored = await check.records.get(expected.map(({ key }) => key))
  for (const [i, { key, value }] of expected.entries()) {
    const entry = stored[i]
    if (entry !== undefined && equalBytes(entry.value, value)) {
      check.countDerived(key)
      continue
    }
    const message = entry === undefined ? 'It is missing' : 'It differs from what it follows from'
    check.expectDerived(false, { kind: differenceKindOf(key), key, message, repair: value })
  }
}

/**
 * Backwards: checks that each entry follows from a record. Forwards its value was compared. So as long as nothing
 * differs, a family with as many entries as were found forwards has no others, and only their number is read.
 */
export async function checkOwners(check: Check): Promise<void> {
  for (const family of DERIVED) {
    let count = 0
    for await (const page of check.pages(family.range)) {
      count += page.length
      check.progress('indexes', page.length)
    }
    if (check.differences > 0 || count !== check.derivedCount(family.range.gte)) await checkOwnersIn(check, family)
  }
}

async function checkOwnersIn(check: Check, { range, ownerOf, isLossNoticed }: DerivedFamily): Promise<void> {
  for await (const page of check.pages(range)) {
    const entries = page.flatMap((entry) => {
      const owner = check.guard('index', entry.key, () => ownerOf(entry))
      return owner === undefined ? [] : [{ key: entry.key, owner }]
    })
    const records = await check.records.get(entries.map(({ owner }) => owner))
    for (const [i, { key, owner }] of entries.entries()) {
      const record = records[i]
      const follows = record !== undefined && derivedOrNone(record).some((entry) => entry.key === key)
      // An entry without its record may be all that is left of it.
      const repair = record !== undefined || isLossNoticed ? null : undefined
      check.expectDerived(follows, { kind: 'index', key, message: `It does not follow from ${owner}`, repair })
    }
  }
}

/** What follows from a record; nothing if it lacks a member, which is reported with the record. */
function derivedOrNone(record: Stored): readonly DerivedEntry[] {
  try {
    return derivedFrom(record)
  } catch {
    return []
  }
}

/** Checks that each counter is the length of its list. The counter of a list that has become empty stays, and is 0. */
export async function checkCounters(check: Check): Promise<void> {
  for (const family of COUNTED) {
    const counting = new Counting(check, family)
    for await (const page of check.pages(family.lists)) await counting.addAll(page)
    await counting.finish()
    for await (const page of check.pages(family.counters))
      for (const entry of page)
        if (await isEmpty(check, family.countedBy(entry.key))) expectCount(check, entry.key, { entry, count: 0 })
  }
}

async function isEmpty(check: Check, range: Range): Promise<boolean> {
  for await (const _ of check.records.list({ ...range, limit: 1 })) return false
  return true
}

interface Count {
  readonly counter: Key
  count: number
}

/** Counts lists whose entries come in the order of their keys. */
class Counting {
  readonly #check: Check
  readonly #family: CountedFamily
  /** Of the current list, and of the lists that contain it. */
  #current: readonly Count[] = []
  #list = ''

  constructor(check: Check, family: CountedFamily) {
    this.#check = check
    this.#family = family
  }

  /** The keys of a page. */
  async addAll(page: readonly Stored[]): Promise<void> {
    for (const { key } of page) {
      const list = this.#family.listOf(key)
      if (list !== this.#list) await this.#begin(key)
      this.#list = list
      for (const count of this.#current) count.count += 1
    }
  }

  async #begin(key: Key): Promise<void> {
    const current = this.#family
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
  const message = `It is ${stored ?? 'not a number'}, but there are ${count}`
  check.expectDerived(stored === count, { kind: 'counter', key, message, repair: encodeCounter(BigInt(count)) })
}

/** Returns `undefined` if the value is not that of a counter. */
function storedCount(entry: Stored | undefined): number | undefined {
  try {
    return countOf(entry)
  } catch {
    return undefined
  }
}

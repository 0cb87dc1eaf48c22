import type { Stored } from '../../ports/index.ts'
import type { Check } from './check.ts'
import type { Family } from './families.ts'

/** Checks that the records to which these refer are there, and say so. */
export async function checkReferences(check: Check, family: Family, page: readonly Stored[]): Promise<void> {
  const { kind } = family
  const references = page.flatMap((record) => {
    const found = check.guard(kind, record.key, () => family.referencesOf(record)) ?? []
    return found.map((reference) => ({ from: record.key, ...reference }))
  })
  const wanted = [...new Set(references.map(({ key }) => key))]
  const entries = new Map((await check.records.get(wanted)).map((entry, i) => [wanted[i], entry]))
  for (const { from, key, fits } of references) {
    const entry = entries.get(key)
    if (entry === undefined) check.reportMissing(key, from)
    else if (check.guard(kind, from, () => fits?.(entry)) === false)
      check.report(kind, from, `It refers to ${key}, which does not say so`)
  }
}

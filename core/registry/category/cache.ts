import type { CategorySelector } from '../../api/evidences.ts'
import type { CompanyId } from '../../api/ids.ts'
import type { Commit } from '../../ports/index.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import type { CategoryRecord } from '../../store/records.ts'

/** A part of a commit. */
export type CommitPart = Required<Pick<Commit, 'checks' | 'writes' | 'adds'>>

/** The category and subcategory of a new evidence, and what the commit must check and write for them. */
export interface CategoryRef extends CommitPart {
  readonly category: CategoryRecord
  readonly subcategory: CategoryRecord
}

/** How a request names the category and subcategory of a new evidence. */
export interface CategoryNames {
  readonly category: CategorySelector
  readonly subcategory: CategorySelector
}

/** About 1 KiB each. */
const MAX_CACHED = 1_024

/**
 * Categories of recent evidences, so that the next evidence in them needs no reads. Its commit checks that both records
 * still have the versions they were read with. If not, the write is decided again from the store. A name is a part of
 * the record that it leads to, so an unchanged record still has the name.
 */
export class CategoryCache {
  readonly #refs = new BoundedMap<string, CategoryRef>(MAX_CACHED)

  find(companyId: CompanyId, names: CategoryNames): CategoryRef | undefined {
    return this.#refs.get(keyOf(companyId, names))
  }

  /** Requires that both records are stored and active. */
  add(companyId: CompanyId, names: CategoryNames, ref: CategoryRef): void {
    this.#refs.set(keyOf(companyId, names), ref)
  }
}

/** No company, id or name contains a NUL. */
const keyOf = (companyId: CompanyId, { category, subcategory }: CategoryNames): string =>
  [companyId, category.id, category.name, subcategory.id, subcategory.name].join('\0')

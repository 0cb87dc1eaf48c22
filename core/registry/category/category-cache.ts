import type { Add, Check, Write } from '../../ports.ts'
import type { CategoryRecord, SubcategoryRecord } from '../../store/records.ts'

/** Where a new evidence goes, and what its commit must check and write for that. */
export interface CategoryRef {
  readonly category: CategoryRecord
  readonly subcategory: SubcategoryRecord
  readonly checks: readonly Check[]
  readonly writes: readonly Write[]
  readonly adds: readonly Add[]
}

export interface CategoryNames {
  readonly categoryId?: string | undefined
  readonly categoryName?: string | undefined
  readonly subcategoryId?: string | undefined
  readonly subcategoryName?: string | undefined
}

/** A place as it was last read: some 1 KiB each. */
const MAX_KNOWN = 1_024

/**
 * Places that evidences were put in, so that the next one needs no reading: its commit checks that both records still have
 * the versions they were read with, and where they have not, the write is decided anew from what the store holds. A name
 * stands in the record that it leads to, so a record that is unchanged still has it.
 */
export class CategoryCache {
  #places = new Map<string, CategoryRef>()

  find(companyId: string, names: CategoryNames): CategoryRef | undefined {
    return this.#places.get(keyOf(companyId, names))
  }

  /** Requires a place whose both records are stored and active. Where it is full it begins anew. */
  note(companyId: string, names: CategoryNames, place: CategoryRef): void {
    if (this.#places.size >= MAX_KNOWN) this.#places = new Map()
    this.#places.set(keyOf(companyId, names), place)
  }
}

/** No company, id or name holds a NUL. */
const keyOf = (companyId: string, names: CategoryNames): string =>
  `${companyId}\0${names.categoryId ?? ''}\0${names.categoryName ?? ''}\0${names.subcategoryId ?? ''}\0${names.subcategoryName ?? ''}`

import type { CategoryChange, CategoryPath, NewCategory, SubcategoryPath } from '../schemas/category-inputs.ts'
import type { FileEntry } from './files.ts'
import type { CategoryId, FileId, Scope, UpdateOptions, WriteOptions } from './scope.ts'

/** An inactive category, and a subcategory of one, accepts no new evidence. */
type CategoryStatus = 'active' | 'inactive'

/** A category, or a subcategory: a category with a parent. */
export interface Category {
  readonly id: CategoryId
  /** Of a subcategory: its category. */
  readonly parentId?: CategoryId
  /** Unique among its siblings. */
  readonly name: string
  /** `/Category` or `/Category/Subcategory`. */
  readonly path: string
  readonly status: CategoryStatus
  /** Counts the changes of its own values and files. Evidences and subcategories in it do not count. */
  readonly version: number
  readonly description?: string
  readonly imageId?: FileId
  /** Whether anyone may ask for the status of the evidences in it. A subcategory has none: its category decides. */
  readonly publicStatus?: boolean
  readonly evidenceCount: number
  /** The category's own files. Those of its subcategories are in `subcategories`. */
  readonly files: readonly FileEntry[]
  /** A subcategory has none. */
  readonly subcategories: readonly Category[]
}

/** Options of the create of a category. */
interface NewCategoryOptions extends WriteOptions {
  /** The id of a category: creates a subcategory of it. */
  readonly parent?: string
}

interface ChangedCategory {
  /** The image after the change, absent if there is none. */
  readonly imageId?: FileId
}

/**
 * Categories and their subcategories. Where a path has no such category or subcategory, all throw `CATEGORY_NOT_FOUND`
 * or `SUBCATEGORY_NOT_FOUND`.
 */
export interface Categories {
  /**
   * Creates a category, or a subcategory of `options.parent`. Requires level `I`.
   *
   * @throws `NAME_EXISTS`, `VALIDATION_ERROR`, `FILE_NOT_FOUND` if the image was used or discarded before
   */
  create(scope: Scope, input: NewCategory, options?: NewCategoryOptions): Promise<{ readonly id: CategoryId }>
  /** All categories of the company with their subcategories, oldest first. Requires level `R`. */
  list(scope: Scope): Promise<readonly Category[]>
  /** Requires level `R`. */
  get(scope: Scope, path: CategoryPath): Promise<Category>
  /**
   * Changes name, description, image and status, and adds files, in one step. Requires level `U`; `A` for
   * `publicStatus`.
   *
   * @throws `NAME_EXISTS`, `VALIDATION_ERROR`, `FILE_NOT_FOUND`, `TOO_MANY_FILES`, `VERSION_CONFLICT`
   */
  update(scope: Scope, path: CategoryPath, change: CategoryChange, options?: UpdateOptions): Promise<ChangedCategory>
  /**
   * Removes an empty category and destroys its files. Its name is free again. Requires level `U`.
   *
   * @throws `CATEGORY_NOT_EMPTY` if it has evidences or subcategories, `VERSION_CONFLICT`
   */
  remove(scope: Scope, path: CategoryPath, options?: UpdateOptions): Promise<void>
  /** The files of a subcategory and of its category. Requires level `R`. */
  files(scope: Scope, path: SubcategoryPath): Promise<CategoryFiles>
}

export interface CategoryFiles {
  readonly category: readonly FileEntry[]
  readonly subcategory: readonly FileEntry[]
}

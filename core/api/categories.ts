import type { FileEntry, StagedFile } from './files.ts'
import type { CategoryId, FileId, SubcategoryId } from './ids.ts'
import type { Scope } from './principal.ts'
import type { WriteOptions } from './writes.ts'

/** An inactive category, and a subcategory of one, accepts no new evidence. */
export type CategoryStatus = 'active' | 'inactive'

interface CategoryDetails {
  /** Unique among its siblings. */
  readonly name: string
  /** `/Category` or `/Category/Subcategory`. */
  readonly path: string
  readonly status: CategoryStatus
  readonly description?: string
  readonly imageId?: FileId
  readonly evidenceCount: number
}

export interface Subcategory extends CategoryDetails {
  readonly id: SubcategoryId
  readonly categoryId: CategoryId
  readonly files: readonly FileEntry[]
}

export interface Category extends CategoryDetails {
  readonly id: CategoryId
  /** The category's own files. Those of its subcategories are in `subcategories`. */
  readonly files: readonly FileEntry[]
  readonly subcategories: readonly Subcategory[]
}

export interface NewCategory {
  /** 1 to 256 characters without `/` and control characters. */
  readonly name: string
  /** At most 8,192 characters. */
  readonly description?: string
  readonly image?: StagedFile
}

export interface CategoryChange {
  readonly name?: string
  /** An empty text means that the description is not given. */
  readonly description?: string
  /** Removes these values. A value must not be both cleared and given. */
  readonly clear?: readonly 'description'[]
  /** Becomes the image, and is added to the files. The previous image stays a file. */
  readonly image?: StagedFile
  /** Added to the files. A category or subcategory has at most 1,000. */
  readonly files?: readonly StagedFile[]
  readonly status?: CategoryStatus
}

/** Names one subcategory. Both ids are checked against each other. */
export interface SubcategoryPath {
  readonly categoryId: string
  readonly subcategoryId: string
}

export interface ChangedCategory {
  /** The image after the change, absent if there is none. */
  readonly imageId?: FileId
}

export interface Categories {
  /**
   * Creates a category. Requires level `I`.
   *
   * @throws `NAME_EXISTS`, `VALIDATION_ERROR`, `FILE_NOT_FOUND` if the image was used or discarded before
   */
  create(scope: Scope, input: NewCategory, options?: WriteOptions): Promise<{ readonly id: CategoryId }>
  /** All categories of the company with their subcategories, oldest first. Requires level `R`. */
  list(scope: Scope): Promise<readonly Category[]>
  /** @throws `CATEGORY_NOT_FOUND` */
  get(scope: Scope, categoryId: string): Promise<Category>
  /** One subcategory. Requires level `R`. @throws `CATEGORY_NOT_FOUND`, `SUBCATEGORY_NOT_FOUND` */
  getSubcategory(scope: Scope, path: SubcategoryPath): Promise<Subcategory>
  /**
   * Changes name, description, image and status, and adds files, in one step. Requires level `U`.
   *
   * @throws `CATEGORY_NOT_FOUND`, `NAME_EXISTS`, `VALIDATION_ERROR`, `FILE_NOT_FOUND`, `TOO_MANY_FILES`
   */
  update(scope: Scope, categoryId: string, change: CategoryChange, options?: WriteOptions): Promise<ChangedCategory>
  /**
   * Removes an empty category and destroys its files. Its name is free again. Requires level `U`.
   *
   * @throws `CATEGORY_NOT_FOUND`, `CATEGORY_NOT_EMPTY` if it has evidences or subcategories
   */
  remove(scope: Scope, categoryId: string, options?: WriteOptions): Promise<void>
  /**
   * Creates a subcategory. Requires level `I`.
   *
   * @throws `CATEGORY_NOT_FOUND`, `NAME_EXISTS`, `VALIDATION_ERROR`, `FILE_NOT_FOUND`
   */
  createSubcategory(
    scope: Scope,
    categoryId: string,
    input: NewCategory,
    options?: WriteOptions,
  ): Promise<{ readonly id: SubcategoryId }>
  /** As `update`. @throws also `SUBCATEGORY_NOT_FOUND` */
  updateSubcategory(
    scope: Scope,
    path: SubcategoryPath,
    change: CategoryChange,
    options?: WriteOptions,
  ): Promise<ChangedCategory>
  /** As `remove`. @throws also `SUBCATEGORY_NOT_FOUND` */
  removeSubcategory(scope: Scope, path: SubcategoryPath, options?: WriteOptions): Promise<void>
  /**
   * The files of a subcategory and of its category. Requires level `R`.
   *
   * @throws `CATEGORY_NOT_FOUND`, `SUBCATEGORY_NOT_FOUND`
   */
  files(scope: Scope, path: SubcategoryPath): Promise<CategoryFiles>
}

export interface CategoryFiles {
  readonly category: readonly FileEntry[]
  readonly subcategory: readonly FileEntry[]
}

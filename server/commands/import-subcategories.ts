import {
  RegistryError,
  type Category,
  type CategorySelector,
  type NewEvidence,
  type Registry,
  type Scope,
  type SubcategoryPath,
} from '../../core/index.ts'

type Selection = Pick<NewEvidence, 'category' | 'subcategory'>

/** Finds the subcategories that lines select by id or name. Reads all categories of the company once. */
export class SubcategoryFinder {
  readonly #categories: readonly Category[]
  readonly #known = new Map<string, SubcategoryPath>()

  private constructor(categories: readonly Category[]) {
    this.#categories = categories
  }

  /** @throws RegistryError `COMPANY_NOT_FOUND` */
  static async load(registry: Registry, scope: Scope): Promise<SubcategoryFinder> {
    return new SubcategoryFinder(await registry.categories.list(scope))
  }

  /** Returns the ids of an active subcategory, `undefined` if none is selected. */
  find(selection: Selection): SubcategoryPath | undefined {
    const key = keyOf(selection)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const { category, subcategory } = this.#select(selection)
    if (category?.status !== 'active' || subcategory?.status !== 'active') return undefined
    const path = { categoryId: category.id, subcategoryId: subcategory.id }
    this.#known.set(key, path)
    return path
  }

  /** Notes the subcategory that the create of an evidence made or found for this selection. */
  learn(selection: Selection, path: SubcategoryPath): void {
    this.#known.set(keyOf(selection), path)
  }

  /** Throws if the create of an evidence would not accept this selection, for which `find` returned `undefined`. */
  assertCreatable(selection: Selection): void {
    const { category, subcategory } = this.#select(selection)
    if (category?.status === 'inactive' || subcategory?.status === 'inactive')
      throw new RegistryError(
        'CATEGORY_INACTIVE',
        'The category or subcategory is inactive and accepts no new evidence',
      )
    if (selection.subcategory.id !== undefined || (category === undefined && selection.category.id !== undefined))
      throw new RegistryError('CATEGORY_NOT_FOUND', 'The category or subcategory does not exist, or has another name')
  }

  #select({ category, subcategory }: Selection): { readonly category?: Category; readonly subcategory?: Category } {
    const found = this.#categories.find((each) => isSelected(each, category))
    const sub = found?.subcategories.find((each) => isSelected(each, subcategory))
    return { ...(found && { category: found }), ...(sub && { subcategory: sub }) }
  }
}

const isSelected = (stored: { readonly id: string; readonly name: string }, { id, name }: CategorySelector): boolean =>
  (id === undefined || id === stored.id) && (name === undefined || name === stored.name)

const keyOf = ({ category, subcategory }: Selection): string =>
  JSON.stringify([category.id, category.name, subcategory.id, subcategory.name])

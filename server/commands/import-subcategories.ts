import {
  comparedName,
  RegistryError,
  type Category,
  type CategorySelector,
  type NewEvidence,
  type Registry,
  type Scope,
  type SubcategoryPath,
} from '../../core/index.ts'

type Selection = Pick<NewEvidence, 'category' | 'subcategory'>

/** The categories of a company, with their names as they are compared: once, and not for each line. */
export async function readCategories({ categories }: Registry, scope: Scope): Promise<readonly Category[]> {
  return withComparedNames(await categories.list(scope))
}

const withComparedNames = (categories: readonly Category[]): readonly Category[] =>
  categories.map((each) => ({
    ...each,
    name: comparedName(each.name),
    subcategories: withComparedNames(each.subcategories),
  }))

/** The ids of the subcategory that a line selects; `undefined` if there is none. */
export function pathIn(categories: readonly Category[], selection: Selection): SubcategoryPath | undefined {
  const { category, subcategory } = selected(categories, selection)
  return category && subcategory && { categoryId: category.id, subcategoryId: subcategory.id }
}

/** Says of two lines whether they select the same subcategory, also of one that does not exist yet. */
export function placeIn(categories: readonly Category[], selection: Selection): readonly unknown[] {
  const { category, subcategory } = selected(categories, selection)
  return [category?.id ?? compared(selection.category).name, subcategory?.id ?? compared(selection.subcategory).name]
}

/** Throws if the create of an evidence would not accept this selection. */
export function assertCreatable(categories: readonly Category[], selection: Selection): void {
  const { category, subcategory } = selected(categories, selection)
  if (category?.status === 'inactive' || subcategory?.status === 'inactive')
    throw new RegistryError('CATEGORY_INACTIVE', 'The category or subcategory is inactive and accepts no new evidence')
  const isMissing = (found: Category | undefined, { id }: CategorySelector): boolean =>
    found === undefined && id !== undefined
  if (isMissing(category, selection.category) || isMissing(subcategory, selection.subcategory))
    throw new RegistryError('CATEGORY_NOT_FOUND', 'The category or subcategory does not exist, or has another name')
}

function selected(categories: readonly Category[], selection: Selection) {
  const [inCategory, inSubcategory] = [compared(selection.category), compared(selection.subcategory)]
  const subcategoryIn = ({ subcategories }: Category) => subcategories.find((each) => isSelected(each, inSubcategory))
  const isAny = inCategory.id === undefined && inCategory.name === undefined
  const category = categories.find((each) => (isAny ? subcategoryIn(each) !== undefined : isSelected(each, inCategory)))
  const subcategory = category && subcategoryIn(category)
  return { category, subcategory }
}

const compared = ({ id, name }: CategorySelector): CategorySelector => ({
  ...(id !== undefined && { id }),
  ...(name !== undefined && { name: comparedName(name) }),
})

const isSelected = (stored: Category, { id, name }: CategorySelector): boolean =>
  (id === undefined || id === stored.id) && (name === undefined || name === stored.name)

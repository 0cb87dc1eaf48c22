import {
  RegistryError,
  type Category,
  type CategorySelector,
  type NewEvidence,
  type SubcategoryPath,
} from '../../core/index.ts'

type Selection = Pick<NewEvidence, 'category' | 'subcategory'>

/** The ids of the subcategory that a line selects; `undefined` if there is none. */
export function pathIn(categories: readonly Category[], selection: Selection): SubcategoryPath | undefined {
  const { category, subcategory } = selected(categories, selection)
  return category && subcategory && { categoryId: category.id, subcategoryId: subcategory.id }
}

/** Says of two lines whether they select the same subcategory, also of one that does not exist yet. */
export function placeIn(categories: readonly Category[], selection: Selection): readonly unknown[] {
  const { category, subcategory } = selected(categories, selection)
  return [category?.id ?? selection.category.name, subcategory?.id ?? selection.subcategory.name]
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
  const subcategoryIn = ({ subcategories }: Category) =>
    subcategories.find((each) => isSelected(each, selection.subcategory))
  const { id, name } = selection.category
  const isAny = id === undefined && name === undefined
  const category = categories.find((each) =>
    isAny ? subcategoryIn(each) !== undefined : isSelected(each, selection.category),
  )
  const subcategory = category && subcategoryIn(category)
  return { category, subcategory }
}

const isSelected = (stored: Category, { id, name }: CategorySelector): boolean =>
  (id === undefined || id === stored.id) && (name === undefined || name === stored.name)

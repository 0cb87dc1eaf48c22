import type { CategoryList } from '../client/index.ts'

/** How a row names its category or subcategory. */
type Selection = { readonly id?: string | undefined; readonly name?: string | undefined }

/** The one active subcategory that a row selects; `undefined` if there is none, or several. */
export function findSubcategory({ categories }: CategoryList, category: Selection, subcategory: Selection) {
  const found = categories
    .filter((each) => isSelected(each, category))
    .flatMap(({ id: categoryId, subcategories }) =>
      subcategories
        .filter((each) => isSelected(each, subcategory))
        .map(({ id }) => ({ categoryId, subcategoryId: id })),
    )
  return found.length === 1 ? found[0] : undefined
}

type Stored = { readonly id: string; readonly name: string; readonly status: string }

const isSelected = (stored: Stored, { id = stored.id, name = stored.name }: Selection): boolean =>
  stored.status === 'active' && id.toLowerCase() === stored.id && comparedName(name) === comparedName(stored.name)

/** As the registry compares names. */
const comparedName = (name: string): string => name.normalize('NFC').trim()

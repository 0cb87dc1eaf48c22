import Type, { type Static } from '#typebox'
import type {
  Category,
  CategoryChange as CoreCategoryChange,
  CategoryFiles,
  NewCategory as CoreNewCategory,
  StagedFile,
} from '../../core/index.ts'
import { HttpError } from './errors.ts'
import { FileEntry, fileEntry, type FileListing } from './files.ts'
import { CategoryName, clearSchema, closed, Count, defined, Id, opt, Text } from './values.ts'

/** Endpoints 1 and 5. The image is not among the fields, because a form sends it as a file. */
export const NewCategory = closed({ name: CategoryName, description: opt(Text) })
export type NewCategory = Static<typeof NewCategory>

export const CategoryAction = Type.Enum(['CHANGE', 'ACTIVATE', 'DEACTIVATE', 'REMOVE'])
/** Endpoints 4 and 6. `action` also activates, deactivates and removes; then `REMOVE` stands alone. */
export const CategoryChange = closed({
  name: opt(CategoryName),
  description: opt(Text),
  clear: opt(clearSchema(['description'])),
  action: opt(CategoryAction),
  publicStatus: opt(Type.Boolean()),
})
export type CategoryChange = Static<typeof CategoryChange>

const detailFields = {
  path: Type.String(),
  name: Type.String(),
  status: Type.Enum(['active', 'inactive', 'removed']),
  fileIds: Type.Array(FileEntry),
  digitalTwinsCount: Count,
  imageId: opt(Id),
  description: opt(Type.String()),
  publicStatus: opt(Type.Boolean()),
}
/** A category or a subcategory, without its id: the request has it in its path. */
export const CategoryDetails = closed(detailFields)
export type CategoryDetails = Static<typeof CategoryDetails>

const SubcategoryListItem = closed({ id: Id, ...detailFields })
/** All categories of a company with their subcategories. There are few, so the list has no pages. */
export const CategoryList = closed({
  categories: Type.Array(closed({ id: Id, ...detailFields, subcategories: Type.Array(SubcategoryListItem) })),
  count: Count,
})
export type CategoryList = Static<typeof CategoryList>
/** The subcategories of one category. */
export const SubcategoryList = closed({ subcategories: Type.Array(SubcategoryListItem), count: Count })
export type SubcategoryList = Static<typeof SubcategoryList>

/** What an update returns: the image that the category has now. */
export const ImageChanged = closed({ imageId: opt(Id) }, { description: 'Without imageId if there is no image' })

/** `image`: stored already, but not used by a record yet. */
export const newCategory = ({ name, description }: NewCategory, image?: StagedFile): CoreNewCategory => ({
  name,
  ...defined({ description, image }),
})

const STATUS_AFTER = { CHANGE: undefined, ACTIVATE: 'active', DEACTIVATE: 'inactive' } as const

/** What a request of endpoint 4 or 6 changes, or `remove`. Throws `VALIDATION_ERROR` if its `action` does not fit. */
export function categoryChange(
  { name, description, clear, action = 'CHANGE', publicStatus }: CategoryChange,
  file?: StagedFile,
): CoreCategoryChange | 'remove' {
  const change = defined({ name, description, clear, publicStatus, image: file })
  if (action !== 'REMOVE') return { ...change, ...defined({ status: STATUS_AFTER[action] }) }
  if (Object.keys(change).length > 0)
    throw new HttpError('VALIDATION_ERROR', 'action REMOVE must be sent without other fields and files')
  return 'remove'
}

/** A category's files include those of its subcategories. A subcategory has none. */
export const categoryDetails = (category: Category): CategoryDetails => ({
  ...details(category),
  fileIds: [category, ...category.subcategories].flatMap(({ files }) => files.map(fileEntry)),
})

/** The whole tree of a company. */
export const categoryList = (categories: readonly Category[]): CategoryList => ({
  categories: categories.map((category) => ({
    id: category.id,
    ...categoryDetails(category),
    subcategories: subcategoryList(category).subcategories,
  })),
  count: categories.length,
})

export const subcategoryList = ({ subcategories }: Category): SubcategoryList => ({
  subcategories: subcategories.map((subcategory) => ({ id: subcategory.id, ...details(subcategory) })),
  count: subcategories.length,
})

const details = (category: Category): CategoryDetails => ({
  path: category.path,
  name: category.name,
  status: category.status,
  fileIds: category.files.map(fileEntry),
  digitalTwinsCount: category.evidenceCount,
  ...defined({ imageId: category.imageId, description: category.description, publicStatus: category.publicStatus }),
})

/** The same listing as for an evidence, which has no files of its own here. */
export const subcategoryFiles = ({ category, subcategory }: CategoryFiles): FileListing => ({
  dt: [],
  category: category.map(fileEntry),
  subcategory: subcategory.map(fileEntry),
})

import Type from '#typebox'
import { CategoryName, clearSchema, closed, IdToFind, type Input, opt, Text } from './fields.ts'
import { StagedFile, StagedFiles } from './file-inputs.ts'

/** What the operations on categories take. */

export const NewCategory = closed({
  /** 1 to 256 characters without `/` and control characters. */
  name: CategoryName,
  /** At most 8,192 characters. */
  description: opt(Text),
  /** Added to the files; by its media type an image, it also becomes the image. */
  image: opt(StagedFile),
})
export type NewCategory = Input<typeof NewCategory>

export const CategoryChange = closed({
  name: opt(CategoryName),
  /** An empty text means that the description is not given. */
  description: opt(Text),
  /** Removes these values. A value must not be both cleared and given. */
  clear: opt(clearSchema(['description'])),
  /** As in `NewCategory`. The previous image stays a file. */
  image: opt(StagedFile),
  /** Added to the files. A category or subcategory has at most 1,000. */
  files: opt(StagedFiles),
  status: opt(Type.Enum(['active', 'inactive'])),
  /** Of a category: whether anyone may ask for the status of the evidences in it. Requires level `A`. */
  publicStatus: opt(Type.Boolean({ description: 'a boolean' })),
})
export type CategoryChange = Input<typeof CategoryChange>

export const CategoryPath = closed({ categoryId: IdToFind, subcategoryId: opt(IdToFind) })
/** Names one category or, with `subcategoryId`, one subcategory. Both ids are checked against each other. */
export type CategoryPath = Input<typeof CategoryPath>

/** Names one subcategory. */
export type SubcategoryPath = Required<CategoryPath>

import Type from '#typebox'
import { stagedFileSchema } from '../file/input.ts'
import { CategoryName, clearSchema, closed, IdToFind, opt, Text } from '../schemas.ts'

/** The same as the input types in core/api/categories.ts. */

export const newCategorySchema = closed({ name: CategoryName, description: opt(Text), image: opt(stagedFileSchema) })

export const categoryChangeSchema = closed({
  name: opt(CategoryName),
  description: opt(Text),
  clear: opt(clearSchema(['description'])),
  image: opt(stagedFileSchema),
  files: opt(Type.Array(stagedFileSchema, { description: 'an array of staged files' })),
  status: opt(Type.Enum(['active', 'inactive'])),
})

export const subcategoryPathSchema = closed({ categoryId: IdToFind, subcategoryId: IdToFind })

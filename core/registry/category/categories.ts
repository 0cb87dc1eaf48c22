import type { Categories } from '../../api/categories.ts'
import { enterCompany } from '../company/company.ts'
import type { Context } from '../context.ts'
import { createCategory } from './create.ts'
import { getCategory, listCategories, listCategoryFiles } from './list.ts'
import { removeCategory, updateCategory } from './update.ts'

export const categoryOperations = (context: Context): Categories => ({
  create: async (scope, input, options) =>
    createCategory(context, await enterCompany(context, scope, 'I'), input, options),
  list: async (scope) => listCategories(context, await enterCompany(context, scope, 'R')),
  get: async (scope, path) => getCategory(context, await enterCompany(context, scope, 'R'), path),
  update: async (scope, path, change, options) =>
    updateCategory(context, await enterCompany(context, scope, 'U'), { path, change }, options),
  remove: async (scope, path, options) =>
    removeCategory(context, await enterCompany(context, scope, 'U'), path, options),
  files: async (scope, path) => listCategoryFiles(context, await enterCompany(context, scope, 'R'), path),
})

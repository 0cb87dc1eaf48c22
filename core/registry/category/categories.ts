import type { Categories } from '../../api/categories.ts'
import { enterCompany } from '../company/company.ts'
import type { Context } from '../context.ts'
import { createCategory, createSubcategory } from './create.ts'
import { getCategory, getSubcategory, listCategories, listCategoryFiles } from './list.ts'
import { removeCategory, removeSubcategory } from './remove.ts'
import { updateCategory, updateSubcategory } from './update.ts'

export const categoryOperations = (context: Context): Categories => ({
  create: async (scope, input, options) =>
    createCategory(context, await enterCompany(context, scope, 'I'), input, options),
  list: async (scope) => listCategories(context, await enterCompany(context, scope, 'R')),
  get: async (scope, categoryId) => getCategory(context, await enterCompany(context, scope, 'R'), categoryId),
  getSubcategory: async (scope, path) => getSubcategory(context, await enterCompany(context, scope, 'R'), path),
  update: async (scope, categoryId, change, options) =>
    updateCategory(context, await enterCompany(context, scope, 'U'), { categoryId, change }, options),
  remove: async (scope, categoryId, options) =>
    removeCategory(context, await enterCompany(context, scope, 'U'), categoryId, options),
  createSubcategory: async (scope, categoryId, input, options) =>
    createSubcategory(context, await enterCompany(context, scope, 'I'), { categoryId, input }, options),
  updateSubcategory: async (scope, path, change, options) =>
    updateSubcategory(context, await enterCompany(context, scope, 'U'), { path, change }, options),
  removeSubcategory: async (scope, path, options) =>
    removeSubcategory(context, await enterCompany(context, scope, 'U'), path, options),
  files: async (scope, path) => listCategoryFiles(context, await enterCompany(context, scope, 'R'), path),
})

import type { CategoryPath } from '../../core/index.ts'
import * as shapes from '../contract/categories.ts'
import { endpoint, type Endpoint, type EndpointGroup, type EndpointRequest } from '../contract/endpoint.ts'
import { FileListing } from '../contract/files.ts'
import { created, json, tagged } from '../contract/reply.ts'
import { Created } from '../contract/values.ts'

const newCategoryBody = {
  schema: shapes.NewCategory,
  form: { slots: [{ name: 'image', inline: true }] },
  example: { name: 'Vehicles', description: 'Cars and vans' },
} as const

const categoryChangeBody = {
  schema: shapes.CategoryChange,
  form: { slots: [{ name: 'file' }] },
  example: { description: 'Cars, vans and trucks' },
} as const

/** Of a response with an ETag. */
const NOT_MODIFIED = { 304: 'You have it already' }

const CATEGORIES = '/evidences/{COMPANY_ID}/category'
const CATEGORY = `${CATEGORIES}/{CATEGORY_ID}`
const SUBCATEGORIES = `${CATEGORY}/subcategory`
const SUBCATEGORY = `${SUBCATEGORIES}/{SUBCATEGORY_ID}`

type Param = EndpointRequest['param']
const categoryPath = (param: Param) => ({ categoryId: param('CATEGORY_ID') })
const subcategoryPath = (param: Param) => ({ ...categoryPath(param), subcategoryId: param('SUBCATEGORY_ID') })

/** What differs between an endpoint of categories and that of subcategories. */
type Difference = Pick<Endpoint, 'id' | 'path' | 'summary' | 'description' | 'errors'>

const createEndpoint = (difference: Difference, parentOf: (param: Param) => { readonly parent?: string }) =>
  endpoint({
    ...difference,
    method: 'POST',
    access: 'I',
    body: newCategoryBody,
    idempotent: true,
    response: { status: 201, schema: Created },
    async handle({ registry, scope, param, input, files, options, path }) {
      const target = { ...options, ...parentOf(param) }
      return created(
        await registry.categories.create(scope, shapes.newCategory(input, files('image')[0]), target),
        path,
      )
    },
  })

const getEndpoint = (difference: Difference, pathOf: (param: Param) => CategoryPath) =>
  endpoint({
    ...difference,
    method: 'GET',
    access: 'R',
    // A category may have thousands of subcategories.
    queue: 'lists',
    response: { schema: shapes.CategoryDetails, others: NOT_MODIFIED },
    async handle({ registry, scope, param }) {
      const category = await registry.categories.get(scope, pathOf(param))
      return tagged(JSON.stringify(shapes.categoryDetails(category)), `${category.version}-`)
    },
  })

const updateEndpoint = (difference: Difference, pathOf: (param: Param) => CategoryPath) =>
  endpoint({
    ...difference,
    method: 'PUT',
    access: 'U',
    body: categoryChangeBody,
    idempotent: true,
    conditional: 'version',
    response: { schema: shapes.ImageChanged },
    async handle({ registry, scope, param, input, files, options }) {
      const change = shapes.categoryChange(input, files('file')[0])
      if (change !== 'remove') return json(await registry.categories.update(scope, pathOf(param), change, options))
      await registry.categories.remove(scope, pathOf(param), options)
      return json({})
    },
  })

/** Endpoints 1 to 7 of the contract. */
export const categories: EndpointGroup = {
  tag: 'Categories',
  description: 'Categories and subcategories, their images and files',
  endpoints: [
    createEndpoint(
      {
        id: 'createCategory',
        path: CATEGORIES,
        summary: 'Create a category',
        description:
          'Names are unique in the company. In JSON `image` is `{name?, mimeType, data}` with base64 data, ' +
          'in a form a file part.',
        errors: ['NAME_EXISTS'],
      },
      () => ({}),
    ),
    endpoint({
      id: 'listCategories',
      method: 'GET',
      path: CATEGORIES,
      access: 'R',
      summary: 'List categories with their subcategories',
      description: 'There are few, so the list has no pages.',
      queue: 'lists',
      response: { schema: shapes.CategoryList },
      handle: async ({ registry, scope }) => json(shapes.categoryList(await registry.categories.list(scope))),
    }),
    getEndpoint(
      {
        id: 'getCategory',
        path: CATEGORY,
        summary: 'Get a category',
        description: '`fileIds` has its own files and those of its subcategories.',
        errors: ['CATEGORY_NOT_FOUND'],
      },
      categoryPath,
    ),
    updateEndpoint(
      {
        id: 'updateCategory',
        path: CATEGORY,
        summary: 'Update, activate, deactivate or remove a category',
        description:
          '`file` is added to the files. If it is an image, it also becomes the icon. Only an empty category ' +
          'can be removed. `If-Match` is the ETag of the category: it holds until the category itself changes. ' +
          'Evidences in it do not count.',
        errors: ['CATEGORY_NOT_FOUND', 'NAME_EXISTS', 'CATEGORY_NOT_EMPTY', 'TOO_MANY_FILES'],
      },
      categoryPath,
    ),
    createEndpoint(
      {
        id: 'createSubcategory',
        path: SUBCATEGORIES,
        summary: 'Create a subcategory',
        description: 'As creating a category; names are unique in the category.',
        errors: ['CATEGORY_NOT_FOUND', 'NAME_EXISTS'],
      },
      (param) => ({ parent: param('CATEGORY_ID') }),
    ),
    endpoint({
      id: 'listSubcategories',
      method: 'GET',
      path: SUBCATEGORIES,
      access: 'R',
      summary: 'List the subcategories of a category',
      description: 'As in the list of categories.',
      response: { schema: shapes.SubcategoryList },
      errors: ['CATEGORY_NOT_FOUND'],
      handle: async ({ registry, scope, param }) =>
        json(shapes.subcategoryList(await registry.categories.get(scope, categoryPath(param)))),
    }),
    getEndpoint(
      {
        id: 'getSubcategory',
        path: SUBCATEGORY,
        summary: 'Get a subcategory',
        description: 'In the form of a category.',
        errors: ['CATEGORY_NOT_FOUND', 'SUBCATEGORY_NOT_FOUND'],
      },
      subcategoryPath,
    ),
    updateEndpoint(
      {
        id: 'updateSubcategory',
        path: SUBCATEGORY,
        summary: 'Update, activate, deactivate or remove a subcategory',
        description: 'As updating a category.',
        errors: ['CATEGORY_NOT_FOUND', 'SUBCATEGORY_NOT_FOUND', 'NAME_EXISTS', 'CATEGORY_NOT_EMPTY', 'TOO_MANY_FILES'],
      },
      subcategoryPath,
    ),
    endpoint({
      id: 'listSubcategoryFiles',
      method: 'GET',
      path: `${SUBCATEGORY}/files`,
      access: 'R',
      summary: "List a subcategory's files and its category's",
      description: '`category` has the files of the category, `subcategory` its own; `dt` is empty.',
      response: { schema: FileListing },
      errors: ['CATEGORY_NOT_FOUND', 'SUBCATEGORY_NOT_FOUND'],
      handle: async ({ registry, scope, param }) =>
        json(shapes.subcategoryFiles(await registry.categories.files(scope, subcategoryPath(param)))),
    }),
  ],
}

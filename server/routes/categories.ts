import {
  CategoryChange,
  categoryChange,
  CategoryDetails,
  categoryDetails,
  CategoryList,
  categoryList,
  ImageChanged,
  NewCategory,
  newCategory,
  subcategoryDetails,
  subcategoryFiles,
} from '../contract/categories.ts'
import { belowRequest, endpoint, type EndpointGroup, type EndpointRequest } from '../contract/endpoint.ts'
import { FileListing } from '../contract/files.ts'
import { Created } from '../contract/values.ts'
import { sendIfChanged, taggedText, type TaggedText } from '../http/conditional.ts'

const newCategoryBody = {
  schema: NewCategory,
  form: { slots: [{ name: 'image', inline: true }] },
  example: { name: 'Vehicles', description: 'Cars and vans' },
} as const

const categoryChangeBody = {
  schema: CategoryChange,
  form: { slots: [{ name: 'file' }], kinds: { clear: 'list' } },
  example: { description: 'Cars, vans and trucks' },
} as const

/** Of a response with an ETag. */
const NOT_MODIFIED = { 304: 'You have it already' }

const CATEGORY = '/evidences/{COMPANY_ID}/category'
const SUBCATEGORY = `${CATEGORY}/{CATEGORY_ID}/subcategory`

const pathOf = (param: EndpointRequest['param']) => ({
  categoryId: param('CATEGORY_ID'),
  subcategoryId: param('SUBCATEGORY_ID'),
})

/** Endpoints 1 to 7 of the contract. */
export const categories: EndpointGroup = {
  tag: 'Categories',
  description: 'Categories and subcategories, their images and files',
  endpoints: [
    endpoint({
      id: 'createCategory',
      method: 'POST',
      path: CATEGORY,
      access: 'I',
      summary: 'Create a category',
      description:
        'Names are unique in the company. In JSON `image` is `{name?, mimeType, data}` with base64 data, in a form a file part.',
      body: newCategoryBody,
      idempotent: true,
      response: { status: 201, schema: Created },
      location: belowRequest,
      errors: ['NAME_EXISTS'],
      handle: ({ registry, scope, input, files, options }) =>
        registry.categories.create(scope, newCategory(input, files('image')[0]), options),
    }),
    endpoint({
      id: 'listCategories',
      method: 'GET',
      path: CATEGORY,
      access: 'R',
      summary: 'List categories with their subcategories',
      response: { schema: CategoryList },
      handle: async ({ registry, scope }) => categoryList(await registry.categories.list(scope)),
    }),
    endpoint({
      id: 'getCategory',
      method: 'GET',
      path: `${CATEGORY}/{CATEGORY_ID}`,
      access: 'R',
      summary: 'Get a category',
      response: { schema: CategoryDetails, others: NOT_MODIFIED },
      errors: ['CATEGORY_NOT_FOUND'],
      handle: async ({ registry, ctx, scope, param }) =>
        sendIfChanged(ctx, taggedDetails(categoryDetails(await registry.categories.get(scope, param('CATEGORY_ID'))))),
    }),
    endpoint({
      id: 'updateCategory',
      method: 'PUT',
      path: `${CATEGORY}/{CATEGORY_ID}`,
      access: 'U',
      summary: 'Update, activate, deactivate or remove a category',
      description:
        '`file` is added to the files. If it is an image, it also becomes the icon. Only an empty category can be removed.',
      body: categoryChangeBody,
      idempotent: true,
      response: { schema: ImageChanged },
      errors: ['CATEGORY_NOT_FOUND', 'NAME_EXISTS', 'CATEGORY_NOT_EMPTY', 'TOO_MANY_FILES'],
      async handle({ registry, scope, param, input, files, options }) {
        const change = categoryChange(input, files('file')[0])
        if (change !== 'remove') return registry.categories.update(scope, param('CATEGORY_ID'), change, options)
        await registry.categories.remove(scope, param('CATEGORY_ID'), options)
        return {}
      },
    }),
    endpoint({
      id: 'createSubcategory',
      method: 'POST',
      path: SUBCATEGORY,
      access: 'I',
      summary: 'Create a subcategory',
      description: 'As creating a category; names are unique in the category.',
      body: newCategoryBody,
      idempotent: true,
      response: { status: 201, schema: Created },
      location: belowRequest,
      errors: ['CATEGORY_NOT_FOUND', 'NAME_EXISTS'],
      handle: ({ registry, scope, param, input, files, options }) =>
        registry.categories.createSubcategory(
          scope,
          param('CATEGORY_ID'),
          newCategory(input, files('image')[0]),
          options,
        ),
    }),
    endpoint({
      id: 'getSubcategory',
      method: 'GET',
      path: `${SUBCATEGORY}/{SUBCATEGORY_ID}`,
      access: 'R',
      summary: 'Get a subcategory',
      response: { schema: CategoryDetails, others: NOT_MODIFIED },
      errors: ['CATEGORY_NOT_FOUND', 'SUBCATEGORY_NOT_FOUND'],
      handle: async ({ registry, ctx, scope, param }) =>
        sendIfChanged(
          ctx,
          taggedDetails(subcategoryDetails(await registry.categories.getSubcategory(scope, pathOf(param)))),
        ),
    }),
    endpoint({
      id: 'updateSubcategory',
      method: 'PUT',
      path: `${SUBCATEGORY}/{SUBCATEGORY_ID}`,
      access: 'U',
      summary: 'Update, activate, deactivate or remove a subcategory',
      body: categoryChangeBody,
      idempotent: true,
      response: { schema: ImageChanged },
      errors: ['CATEGORY_NOT_FOUND', 'SUBCATEGORY_NOT_FOUND', 'NAME_EXISTS', 'CATEGORY_NOT_EMPTY', 'TOO_MANY_FILES'],
      async handle({ registry, scope, param, input, files, options }) {
        const change = categoryChange(input, files('file')[0])
        if (change !== 'remove') return registry.categories.updateSubcategory(scope, pathOf(param), change, options)
        await registry.categories.removeSubcategory(scope, pathOf(param), options)
        return {}
      },
    }),
    endpoint({
      id: 'listSubcategoryFiles',
      method: 'GET',
      path: `${SUBCATEGORY}/{SUBCATEGORY_ID}/files`,
      access: 'R',
      summary: "List a subcategory's files and its category's",
      response: { schema: FileListing },
      errors: ['CATEGORY_NOT_FOUND', 'SUBCATEGORY_NOT_FOUND'],
      handle: async ({ registry, scope, param }) =>
        subcategoryFiles(await registry.categories.files(scope, pathOf(param))),
    }),
  ],
}

const taggedDetails = (details: CategoryDetails): TaggedText => taggedText(JSON.stringify(details))

import { CategoryChange, CategoryDetails, CategoryList, FileListing, NewCategory } from '../../core/registry/schemas.ts'
import { endpoint, type EndpointGroup } from '../contract/endpoint.ts'
import { Created, ImageChanged } from '../contract/shapes.ts'

const newCategory = {
  schema: NewCategory,
  form: { slots: [{ name: 'image', inline: true }] },
  example: { name: 'Vehicles', description: 'Cars and vans' },
} as const

const categoryChange = {
  schema: CategoryChange,
  form: { slots: [{ name: 'file' }] },
  example: { description: 'Cars, vans and trucks' },
} as const

const CATEGORY = '/evidences/{COMPANY_ID}/category'
const SUBCATEGORY = `${CATEGORY}/{CATEGORY_ID}/subcategory`

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
      body: newCategory,
      idempotent: true,
      answer: { status: 201, schema: Created },
      errors: ['NAME_EXISTS'],
      handle: ({ registry, scope, input, files, options }) =>
        registry.categories.create(scope, input, files('image')[0], options),
    }),
    endpoint({
      id: 'listCategories',
      method: 'GET',
      path: CATEGORY,
      access: 'R',
      summary: 'List categories with their subcategories',
      answer: { schema: CategoryList },
      handle: ({ registry, scope }) => registry.categories.list(scope),
    }),
    endpoint({
      id: 'getCategory',
      method: 'GET',
      path: `${CATEGORY}/{CATEGORY_ID}`,
      access: 'R',
      summary: 'Get a category',
      answer: { schema: CategoryDetails },
      errors: ['CATEGORY_NOT_FOUND'],
      handle: ({ registry, scope, param }) => registry.categories.get(scope, param('CATEGORY_ID')),
    }),
    endpoint({
      id: 'updateCategory',
      method: 'PUT',
      path: `${CATEGORY}/{CATEGORY_ID}`,
      access: 'U',
      summary: 'Update, activate, deactivate or remove a category',
      description: '`file` replaces the image. Only an empty category can be removed.',
      body: categoryChange,
      idempotent: true,
      answer: { schema: ImageChanged },
      errors: ['CATEGORY_NOT_FOUND', 'NAME_EXISTS', 'CATEGORY_NOT_EMPTY'],
      handle: ({ registry, scope, param, input, files, options }) =>
        registry.categories.update(scope, param('CATEGORY_ID'), input, files('file')[0], options),
    }),
    endpoint({
      id: 'createSubcategory',
      method: 'POST',
      path: SUBCATEGORY,
      access: 'I',
      summary: 'Create a subcategory',
      description: 'As creating a category; names are unique in the category.',
      body: newCategory,
      idempotent: true,
      answer: { status: 201, schema: Created },
      errors: ['CATEGORY_NOT_FOUND', 'NAME_EXISTS'],
      handle: ({ registry, scope, param, input, files, options }) =>
        registry.categories.createSubcategory(scope, param('CATEGORY_ID'), input, files('image')[0], options),
    }),
    endpoint({
      id: 'updateSubcategory',
      method: 'PUT',
      path: `${SUBCATEGORY}/{SUBCATEGORY_ID}`,
      access: 'U',
      summary: 'Update, activate, deactivate or remove a subcategory',
      body: categoryChange,
      idempotent: true,
      answer: { schema: ImageChanged },
      errors: ['CATEGORY_NOT_FOUND', 'SUBCATEGORY_NOT_FOUND', 'NAME_EXISTS', 'CATEGORY_NOT_EMPTY'],
      handle: ({ registry, scope, param, input, files, options }) =>
        registry.categories.updateSubcategory(
          scope,
          param('CATEGORY_ID'),
          param('SUBCATEGORY_ID'),
          input,
          files('file')[0],
          options,
        ),
    }),
    endpoint({
      id: 'listSubcategoryFiles',
      method: 'GET',
      path: `${SUBCATEGORY}/{SUBCATEGORY_ID}/files`,
      access: 'R',
      summary: "List a subcategory's files and its category's",
      answer: { schema: FileListing },
      errors: ['CATEGORY_NOT_FOUND', 'SUBCATEGORY_NOT_FOUND'],
      handle: ({ registry, scope, param }) =>
        registry.categories.subcategoryFiles(scope, param('CATEGORY_ID'), param('SUBCATEGORY_ID')),
    }),
  ],
}

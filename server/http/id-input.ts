/** Names of path parameters, query parameters and fields that are ids which the service has made. */
const IDS = new Set(['CATEGORY_ID', 'SUBCATEGORY_ID', 'SYSTEM_ID', 'categoryId', 'subcategoryId', 'fileId'])

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The value of a parameter or field. An id is accepted in either case, and is in lowercase here. */
export const idInput = <T>(name: string, value: T): T | string =>
  IDS.has(name) && typeof value === 'string' && UUID.test(value) ? value.toLowerCase() : value

/** The inputs of creates that all benchmarks use. They do not depend on the library's API. */

/** Categories that evidences are spread over. Each has one subcategory, `All`. */
export const CATEGORY_COUNT = 10

export const categoryName = (index: number): string => `Category ${index % CATEGORY_COUNT}`

/** The category of an evidence by name, for callers that do not know ids, as the HTTP interface names it. */
export const categoryFieldsOf = (index: number) => ({ categoryName: categoryName(index), subcategoryName: 'All' })

/** The same for callers of the library. */
export const categoryOf = (index: number) => ({
  category: { name: categoryName(index) },
  subcategory: { name: 'All' },
})

/** An evidence of usual size: five values, `meta` with two members. */
export const evidenceOf = (index: number) => ({
  externalId: `item ${index}`,
  name: `Item ${index}`,
  owner: 'Ada',
  description: 'A thing of which there are many, described in one line of ordinary length',
  meta: { serial: index, colour: 'grey' },
})

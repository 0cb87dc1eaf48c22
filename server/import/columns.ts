/** What the columns of a CSV file can become: these fields of a new evidence, and `meta.NAME`. */
export const FIELDS = [
  'externalId',
  'name',
  'owner',
  'categoryName',
  'subcategoryName',
  'summary',
  'description',
] as const
export type ImportField = (typeof FIELDS)[number]

/** The fields that each row must have. */
export const REQUIRED_FIELDS: readonly ImportField[] = ['externalId', 'name', 'subcategoryName']

/** What each column becomes; `undefined`: it is left out. */
export type Targets = readonly (string | undefined)[]

/** The values of a row by field, as a line of JSON has them. */
export type RowValues = { readonly [field: string]: unknown }

/** What the target of a column begins with whose cells are facts. */
export const META = 'meta.'

/** What each column becomes by its name. The first of two equal ones counts. */
export function targetsOf(columns: readonly string[]): Targets {
  const targets = columns.map((column) => {
    // `External ID`, `external_id` and `externalId` are the same, and `Category` is `categoryName`.
    const plain = column.toLowerCase().replaceAll(/[\s_-]/g, '')
    const field = FIELDS.find((each) => plain !== '' && [plain, `${plain}name`].includes(each.toLowerCase()))
    return column.startsWith(META) ? column : field
  })
  return targets.map((target, i) => (targets.indexOf(target) === i ? target : undefined))
}

/** What a column becomes whose cells are facts. */
export const factOf = (column: string): string => (column.startsWith(META) ? column : META + column)

/**
 * The values of a row of a CSV file. Empty cells are left out. A cell beyond the columns becomes a field that is not
 * known, so that the row is refused: its values may be shifted.
 */
export function valuesOf(cells: readonly string[], targets: Targets): RowValues {
  const [fields, meta]: [[string, unknown][], [string, unknown][]] = [[], []]
  for (const [i, cell] of cells.entries()) {
    const target = i < targets.length ? targets[i] : `column ${i + 1}`
    if (target === undefined || cell.trim() === '') continue
    if (target.startsWith(META)) meta.push([target.slice(META.length), cell])
    else fields.push([target, cell])
  }
  if (meta.length > 0) fields.push(['meta', Object.fromEntries(meta)])
  return Object.fromEntries(fields)
}

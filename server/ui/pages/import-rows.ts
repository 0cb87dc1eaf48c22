import { parseStrictJson } from '../../../core/verify/index.ts'
import type { CategoryList, Client, EvidenceInput } from '../../client/index.ts'
import { FIELDS, REQUIRED_FIELDS, valuesOf } from '../../import/columns.ts'
import type { ImportField, RowValues, Targets } from '../../import/columns.ts'
import { isCsvName, readCsv, type CsvRow } from '../../import/csv.ts'
import type { ImportRow } from '../../import/send.ts'
import { findSubcategory } from '../../import/subcategories.ts'
import { FieldError, insteadOf, LINE_LENGTH, maxLengthOf } from '../failure.ts'
import * as texts from '../texts/index.ts'

/** A file of rows. One of JSON has no columns, and in each row one cell: its line. */
export interface ImportFile {
  readonly name: string
  readonly bytes: number
  readonly columns: readonly string[]
  readonly rows: readonly CsvRow[]
}

/** A row that is not created, and why. */
export interface Fault {
  readonly number: number
  readonly externalId: string
  readonly reason: string
}

/** What people call the fields. */
export const LABELS: Readonly<Record<ImportField, string>> = {
  ...texts.fields,
  categoryName: texts.evidences.category,
  subcategoryName: texts.evidences.subcategory,
}

const fault = (reason: string): FieldError => new FieldError({ file: reason })

/** Reads a file on this device. Throws a `FieldError` if it has no rows. */
export async function readImport(file: File): Promise<ImportFile> {
  const t = texts.import
  const text = await file.text()
  // In place of what is not UTF-8, which would be recorded for ever.
  if (text.includes('\u{fffd}')) throw fault(t.notUtf8)
  const isCsv = isCsvName(file.name)
  const { rows, openQuote } = isCsv ? readCsv(text) : { rows: linesOf(text), openQuote: undefined }
  if (openQuote !== undefined) throw fault(t.openQuote(openQuote))
  const [columns, given] = isCsv ? [rows[0]?.cells ?? [], rows.slice(1)] : [[], rows]
  if (given.length === 0) throw fault(t.noRows)
  return { name: file.name, bytes: file.size, columns, rows: given }
}

const linesOf = (text: string): readonly CsvRow[] =>
  text.split('\n').flatMap((line, i) => (line.trim() === '' ? [] : [{ number: i + 1, cells: [line] }]))

/** Finds the rows that can be sent. The service checks the rest, such as external ids that exist. */
export function checkRows({ columns, rows }: ImportFile, targets: Targets, categories: CategoryList) {
  const t = texts.import.faults
  const [ready, faults]: [ImportRow[], Fault[]] = [[], []]
  const seen = new Map<unknown, number>()
  for (const { number, cells } of rows) {
    const values = columns.length > 0 ? valuesOf(cells, targets) : valuesIn(cells[0])
    const externalId = values?.['externalId']
    const earlier = seen.get(externalId)
    if (earlier === undefined) seen.set(externalId, number)
    try {
      assertRow(values)
      if (earlier !== undefined) throw fault(t.twice(earlier))
      const { categoryName, subcategoryName, ...evidence } = values
      const path = findSubcategory(categories, { name: categoryName }, { name: subcategoryName })
      if (path === undefined) throw fault(t.subcategory(subcategoryName))
      ready.push({ number, ...path, evidence })
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      faults.push({ number, externalId: typeof externalId === 'string' ? externalId : '', reason: error.message })
    }
  }
  return { ready, faults }
}

/** Evidences of a page of the list, and the most requests that finding out takes. */
const [PAGE_ITEMS, MAX_REQUESTS] = [1_000, 50]

/**
 * How many of the rows have an external id that exists: by the list of all evidences, or row by row if that takes fewer
 * requests. `undefined`: both take too many.
 */
export async function countExisting(
  rows: readonly ImportRow[],
  client: Client,
  signal: AbortSignal,
): Promise<number | undefined> {
  const ids = new Set(rows.map(({ evidence }) => evidence.externalId))
  const pages = (await client.listEvidences({ len: 1 }, { signal })).count / PAGE_ITEMS
  if (Math.min(pages, ids.size) > MAX_REQUESTS) return undefined
  let count = 0
  if (pages <= ids.size) {
    for await (const { externalId } of client.evidences({}, { signal })) count += Number(ids.has(externalId))
    return count
  }
  for (const externalId of ids) {
    const request = client.getEvidence({ externalId, len: 1 }, { signal })
    if (await request.catch(insteadOf('EVIDENCE_NOT_FOUND', undefined))) count += 1
  }
  return count
}

/** The given values of a line of JSON: as in the API, `null` and `""` are not given. */
function valuesIn(line = ''): RowValues | undefined {
  try {
    const value: unknown = parseStrictJson(line)
    if (!isObject(value)) return undefined
    return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null && each !== ''))
  } catch {
    return undefined
  }
}

/** The values of a row that can be sent. */
type Values = Pick<EvidenceInput, keyof EvidenceInput> & {
  readonly categoryName?: string
  readonly subcategoryName: string
}

/** @throws a `FieldError` for the first thing that is wrong */
function assertRow(values: RowValues | undefined): asserts values is Values {
  const t = texts.import.faults
  if (values === undefined) throw fault(t.notObject)
  const missing = REQUIRED_FIELDS.find((field) => values[field] === undefined)
  if (missing !== undefined) throw fault(t.missing(LABELS[missing]))
  for (const [name, value] of Object.entries(values)) {
    const field = FIELDS.find((each) => each === name)
    if (field === undefined && name !== 'meta') throw fault(t.unknownField(name))
    const max = maxLengthOf(name)
    const isText = typeof value === 'string' && Array.from(value).length <= max && value.trim() !== ''
    const isLine = isText && !/\p{Cc}/u.test(max > LINE_LENGTH ? value.replaceAll(/[\t\r\n]/g, '') : value)
    if (!(field === undefined ? isObject(value) : isLine)) throw fault(t.wrong(field ? LABELS[field] : name))
  }
}

const isObject = (value: unknown): value is RowValues =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

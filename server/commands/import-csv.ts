import type { Readable } from 'node:stream'
import { readCsv } from '../import/csv.ts'
import { FIELDS, targetsOf, valuesOf } from '../import/columns.ts'
import { configError } from '../settings/config-error.ts'

/**
 * Makes lines of JSON of the rows of a CSV file, which it reads as a whole. Each keeps its number: the first row, which
 * has the names of the columns, becomes an empty line.
 *
 * @throws RegistryError `CONFIG_ERROR` if the file is not CSV, or the name of a column is not that of a field
 */
export async function* linesOfCsv(chunks: Readable): AsyncGenerator<Uint8Array> {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(await chunks.toArray()))
  const { rows, openQuote } = readCsv(text)
  if (openQuote !== undefined)
    throw configError(`Row ${openQuote}: a quotation mark is not closed, or not at the end of its cell`)
  const columns = rows[0]?.cells ?? []
  const targets = targetsOf(columns)
  const name = columns.find((_, i) => targets[i] === undefined)
  if (name !== undefined)
    throw configError(`The column ${JSON.stringify(name)} is not ${FIELDS.join(', ')} or meta.NAME, or there twice`)
  let last = 1
  for (const { number, cells } of rows.slice(1)) {
    yield Buffer.from('\n'.repeat(number - last) + JSON.stringify(valuesOf(cells, targets)))
    last = number
  }
}

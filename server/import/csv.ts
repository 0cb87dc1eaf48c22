import papa from 'papaparse'

/** A row of a CSV file. */
export interface CsvRow {
  /** As a spreadsheet counts: row 1 has the names of the columns. */
  readonly number: number
  readonly cells: readonly string[]
}

/** Whether a file is read as CSV. Other files have a JSON object in each line. */
export const isCsvName = (name: string): boolean => /\.[ct]sv$/i.test(name)

/**
 * Reads the rows of a CSV file, without those that are empty. The delimiter can be a comma, a semicolon, a tab or `|`.
 * `openQuote`: the number of a row whose quotation marks do not match, so that its end is not known.
 */
export function readCsv(text: string): { readonly rows: readonly CsvRow[]; readonly openQuote: number | undefined } {
  // By the names of the columns: papaparse alone finds no semicolons in a file of a few rows.
  const countOf = (delimiter: string): number => (/\S.*/.exec(text)?.[0] ?? '').split(delimiter).length
  const [delimiter = ','] = [',', ';', '\t', '|'].toSorted((a, b) => countOf(b) - countOf(a))
  const { data, errors } = papa.parse(text, { delimiter })
  const wrong = errors.find(({ type }) => type === 'Quotes')
  const rows = data.map((cells, i) => ({ number: i + 1, cells }))
  const given = rows.filter(({ cells }) => cells.some((cell) => cell.trim() !== ''))
  return { rows: given, openQuote: wrong && (wrong.row ?? 0) + 1 }
}

/** The text of a CSV file with these rows, which a spreadsheet does not take for formulas. */
export const csvText = (rows: readonly (readonly unknown[])[]): string => papa.unparse(rows, { escapeFormulae: true })

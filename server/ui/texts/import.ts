import { counted } from './counted.ts'

const imports = {
  title: 'Import',
  intro: 'From a CSV, or a file with one JSON object a line. Nothing is recorded before you say so.',
  way: 'Steps of the import',
  steps: ['File', 'Columns', 'Check', 'Import'],
  size: (rows: number, bytes: string) => `${counted(rows, 'row')}, ${bytes}`,
  choose: 'Drop your list here, or choose a file',
  chooseHint: '.csv, .tsv or .jsonl. It is read on this device.',
  saveExample: 'Example as CSV',
  example: [
    ['External id', 'Name', 'Owner', 'Category', 'Subcategory', 'meta.Serial number'],
    ['BIKE-20417', 'Nordlicht cargo bike', 'Grace Hopper', 'Vehicles', 'Bicycles', 'NL7K-0042-8831'],
  ],
  notUtf8: 'The file is not text in UTF-8. Save it as “CSV UTF-8”, then choose it again.',
  openQuote: (row: number) => `In row ${row} a quotation mark is not closed, or not at the end of its cell.`,
  noRows: 'The file has no rows. Row 1 of a CSV file has the names of its columns.',
  columns: 'Columns of the file',
  column: 'Column',
  target: 'Becomes',
  becomes: (column: string) => `${column} becomes`,
  leaveOut: 'Leave out',
  fact: (name: string) => `A fact: ${name}`,
  noColumn: (fields: readonly string[]) => `Choose a column for: ${fields.join(', ')}`,
  back: 'Back',
  check: (rows: number) => `Check ${counted(rows, 'row')}`,
  ready: (ready: number, all: number) => `${ready.toLocaleString()} of ${counted(all, 'row')} are ready`,
  areNew: 'are new',
  perhapsNew: 'have no fault; whether they are there already shows when they are sent',
  areThere: 'are there already',
  haveFault: 'have a fault',
  row: (number: number) => `Row ${number.toLocaleString()}`,
  faultsLabel: 'Rows that are left out',
  faultColumns: ['Row', 'External id', 'Reason'],
  save: (rows: number) => `${counted(rows, 'row')} with reasons, CSV`,
  start: (rows: number) => `Import ${counted(rows, 'record')}`,
  progress: (done: number, all: number) => `${done.toLocaleString()} of ${all.toLocaleString()}`,
  canClose: 'You can close this page: drop the same file again, and it goes on where it stopped.',
  created: (count: number) => `${counted(count, 'record')} created`,
  others: ({ present, faults, refused }: Readonly<Record<'present' | 'faults' | 'refused', number>>, time: string) =>
    `${present.toLocaleString()} already there, ${faults.toLocaleString()} with a fault, ` +
    `${refused.toLocaleString()} refused. It took ${time}.`,
  another: 'Import another',
  show: 'Show the new records',
  faults: {
    notObject: 'It is not a JSON object, or has a number that cannot be kept exactly',
    unknownField: (name: string) => `“${name}” is not a field of a record`,
    missing: (label: string) => `${label} is empty`,
    wrong: (label: string) => `${label} is too long, not a text, or has a character that cannot be printed`,
    subcategory: (name: string) =>
      `There is no active subcategory “${name}”, or there are several: give its category, too`,
    taken: 'The external id is in use, with other values',
    twice: (row: number) => `The external id is also in row ${row.toLocaleString()}`,
  },
} as const

export { imports as import }

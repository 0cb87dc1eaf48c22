import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { isRegistryError, OPERATOR, type RegistryError } from '../../core/index.ts'
import { isCsvName } from '../import/csv.ts'
import type { Config } from '../settings/load.ts'
import { stderrLogger } from '../startup/logger.ts'
import { openConfiguredRegistry } from '../startup/registry.ts'
import { DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'
import { assertHasRecords } from '../startup/markers.ts'
import { linesOfCsv } from './import-csv.ts'
import { importLines, type ImportCounts } from './import-run.ts'
import { printable, ProgressLine, whyUnreadable } from './terminal.ts'
import { configError } from '../settings/config-error.ts'

const flags = {
  company: { value: 'ID', isRequired: true, doc: 'the company that gets the evidences; it must exist' },
  check: { doc: 'create nothing: check the lines, and look up their external ids and categories' },
  'data-dir': DATA_DIR,
  'secret-file': SECRET_FILE,
} as const

/** `evidence-registry import` without `--url`. It opens the registry itself, which is faster than the API. */
export const importCommand = defineCommand({
  name: 'import',
  usage: ['--company ID [--check] [--data-dir DIR] [--secret-file FILE] FILE', '--company ID --url URL [--json] FILE'],
  description: `
Creates evidences from a CSV file, or from a file with one JSON object per line. FILE may be - for JSON on stdin. Stop
the server first. The records, files and other parts are those of the server's settings. With --url it sends the
evidences to a running server instead, with the key in EVIDENCE_API_KEY, and creates no categories.

The first row of FILE.csv or FILE.tsv names its columns: the fields below, or meta.NAME for a text in meta.

A line is what POST /evidences/COMPANY_ID/evidence accepts as JSON: externalId, name, categoryName or categoryId,
subcategoryName or subcategoryId, and if wanted owner, description, summary, meta. Categories that do not exist are
created. Empty lines are skipped.

A line that is refused is printed to stdout as "LINE CODE MESSAGE"; the other lines are created.

After an interruption run the same command again. It does not create an evidence twice: a line whose external
id exists is skipped if that evidence was created with the same values, and refused otherwise.`,
  flags,
  operand: 'FILE',
  success: 'every line is in the registry',
  failure: 'lines were refused, or the import stopped',
  async run(values, config, path) {
    const { company, check: isDryRun = false } = values
    const source = await openSource(path)
    return importFile({ ...config, readOnly: config.readOnly || isDryRun }, { ...source, company, isDryRun })
  },
})

/** A file that is imported. */
interface ImportSource {
  readonly chunks: Readable
  /** The same, with lines of JSON in place of the rows of a CSV file. */
  readonly lines: AsyncIterable<Uint8Array>
  /** `undefined` if it is not known. */
  readonly bytes?: number
}

/** The file, and what becomes of it. */
interface ImportRequest extends ImportSource {
  readonly company: string
  readonly isDryRun: boolean
}

/** Opens the file now, so that a wrong path is noticed before the registry is opened. */
export async function openSource(path: string): Promise<ImportSource> {
  if (path === '-') return { chunks: process.stdin, lines: process.stdin }
  try {
    const info = await stat(path)
    if (info.isDirectory()) throw configError(`${path} is a folder: name a file, or - for stdin`)
    const stream = createReadStream(path, { highWaterMark: 256 * 1024 })
    await new Promise((opened, failed) => stream.once('open', opened).once('error', failed))
    const lines = isCsvName(path) ? linesOfCsv(stream) : stream
    return { chunks: stream, lines, ...(info.isFile() && { bytes: info.size }) }
  } catch (cause) {
    if (isRegistryError(cause)) throw cause
    throw configError(`The file ${path} cannot be read: ${whyUnreadable(cause)}`)
  }
}

/** Returns the number of refused lines. */
async function importFile(config: Config, { chunks, lines, bytes, company, isDryRun }: ImportRequest): Promise<number> {
  if (config.records === 'level') assertHasRecords(resolve(config.dataDir))
  const progress = new ProgressLine()
  const { registry } = await openConfiguredRegistry(config, stderrLogger)
  try {
    const scope = { companyId: company, principal: OPERATOR }
    const onRefused = (number: number, { code, message }: RegistryError): void =>
      progress.print(`${number} ${code} ${printable(message)}`)
    const onProgress = (counts: ImportCounts, read: number): void => progress.show(progressText(counts, read, bytes))
    const counts = await importLines(lines, { registry, scope, isDryRun, onRefused, onProgress })
    progress.print(summary(counts, isDryRun))
    return counts.refused
  } finally {
    // After a failure, a line may still be waited for.
    chunks.destroy()
    await registry.close()
  }
}

/** How far an import is. */
export const progressText = (counts: ImportCounts, read: number, bytes: number | undefined): string => {
  const { created, present, refused } = counts
  const share = bytes === undefined || bytes === 0 ? '' : `${Math.floor((100 * Math.min(read, bytes)) / bytes)} %, `
  return `${share}${created} created, ${present} present before, ${refused} refused`
}

/** What became of the lines of a file. */
export const summary = ({ created, present, refused }: ImportCounts, isDryRun: boolean): string =>
  `${created} evidences ${isDryRun ? 'can be created' : 'created'}, ${present} present before, ${refused} lines refused`

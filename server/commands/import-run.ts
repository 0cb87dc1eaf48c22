import { createHash } from 'node:crypto'
import {
  canonicalJson,
  isRegistryError,
  type Category,
  type NewEvidence,
  type Registry,
  type RegistryError,
  type Scope,
} from '../../core/index.ts'
import { externalIdInUse, isPresent } from './import-existing.ts'
import { isObjectLine, MAX_LINE_BYTES, parseLine, tooLong } from './import-lines.ts'
import { assertCreatable, pathIn, placeIn, readCategories } from './import-subcategories.ts'
import { linesOf } from './lines.ts'

/**
 * Lines that are created at the same time: the store syncs them together. So each costs 170 to 180 us of CPU time, in
 * bulk creates of 1,000 lines 142 to 149.
 */
const MAX_RUNNING = 300

/** Codes that say that the import cannot continue. Every other code is about the line. */
const FATAL = [
  'COMPANY_NOT_FOUND',
  'UNAVAILABLE',
  'ENGINE_FAILED',
  'UNKNOWN_OUTCOME',
  'STORE_POISONED',
  'CORRUPT',
  'CLOSED',
  'FORBIDDEN',
]

/** A line of the file. */
export interface ImportLine {
  /** 1, 2, … */
  readonly number: number
  readonly bytes: Uint8Array
}

/** What became of the lines so far. */
export interface ImportCounts {
  /** In a dry run: evidences that can be created. */
  readonly created: number
  /** Lines whose evidence existed already. */
  readonly present: number
  readonly refused: number
}

/** Where the evidences go, and how the import tells what it does. */
export interface ImportOptions {
  readonly registry: Registry
  readonly scope: Scope
  /** Creates nothing, and counts what would be created. */
  readonly isDryRun: boolean
  readonly onRefused: (line: number, error: RegistryError) => void
  /** Called before each line with the number of bytes that were read. */
  readonly onProgress?: (counts: ImportCounts, bytes: number) => void
}

/**
 * Creates evidences from lines of JSON, many at the same time. A line whose evidence exists already, created from the
 * same values, is counted as present, so a file can be imported again after an interruption. Of several lines with one
 * external id, the first one is created.
 *
 * @throws RegistryError with a code of `FATAL`, `CONFIG_ERROR` if the first line with content is not a JSON object,
 *   `VALIDATION_ERROR` at a line of more than 1 MiB, errors of `chunks`.
 *   Lines that come later than the failure may have been created, too
 */
export async function importLines(chunks: AsyncIterable<Uint8Array>, options: ImportOptions): Promise<ImportCounts> {
  const evidences = new EvidenceImport(options, await readCategories(options.registry, options.scope))
  const lines = numbered(chunks, (bytes) => options.onProgress?.(evidences.counts, bytes))
  let isFailed = false
  const work = async (): Promise<void> => {
    try {
      for (let step = await lines.next(); step.done !== true && !isFailed; step = await lines.next())
        await evidences.addLine(step.value)
    } catch (error) {
      isFailed = true
      throw error
    }
  }
  await Promise.all(Array.from({ length: MAX_RUNNING }, work))
  return evidences.counts
}

/** The lines of a file. `onRead`: told before each line how many bytes were read. */
export async function* numbered(
  chunks: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void,
): AsyncGenerator<ImportLine, undefined> {
  let [number, read, hasObjects] = [0, 0, false]
  for await (const lines of linesOf(chunks, MAX_LINE_BYTES))
    for (const bytes of lines) {
      number++
      if (bytes.length > MAX_LINE_BYTES) throw tooLong(number)
      hasObjects ||= isObjectLine(bytes)
      read += bytes.length + 1
      onRead(read)
      yield { number, bytes }
    }
}

/** What becomes of the lines. */
class EvidenceImport {
  readonly #options: ImportOptions
  #categories: readonly Category[]
  /** The newest line of each external id that is being imported. */
  readonly #running = new Map<string, Promise<void>>()
  /** In a dry run, the digest of the values of each line that would have been created so far, by its external id. */
  readonly #creatable = new Map<string, string>()
  /** Whether the last line was present: the next one may be, too, and a create that fails costs more than a look-up. */
  #looksFirst = false
  readonly #counts = { created: 0, present: 0, refused: 0 }

  constructor(options: ImportOptions, categories: readonly Category[]) {
    this.#options = options
    this.#categories = categories
  }

  get counts(): ImportCounts {
    return this.#counts
  }

  /** Imports a line, or reports that it is refused. Throws if the error is not about the line. */
  async addLine({ number, bytes }: ImportLine): Promise<void> {
    try {
      const input = parseLine(bytes)
      if (input !== undefined) await this.#importInTurn(input)
    } catch (error) {
      if (!isRegistryError(error) || FATAL.includes(error.code)) throw error
      this.#counts.refused += 1
      this.#options.onRefused(number, error)
    }
  }

  /** A later line of an external id is compared with the first one as if that were from an earlier import. */
  async #importInTurn(input: NewEvidence): Promise<void> {
    const { externalId } = input
    const before = this.#running.get(externalId)
    const run =
      before === undefined ? this.#import(input) : before.catch(() => undefined).then(() => this.#import(input))
    this.#running.set(externalId, run)
    try {
      await run
    } finally {
      if (this.#running.get(externalId) === run) this.#running.delete(externalId)
    }
  }

  async #import(input: NewEvidence): Promise<void> {
    const wasPresent = this.#options.isDryRun ? await this.#check(input) : await this.#create(input)
    this.#counts[wasPresent ? 'present' : 'created'] += 1
  }

  /** Returns whether the evidence existed already. */
  async #create(input: NewEvidence): Promise<boolean> {
    const { registry, scope } = this.#options
    if (this.#looksFirst && (await this.#isPresent(input))) return true
    try {
      await registry.evidences.create(scope, input)
      this.#looksFirst = false
      return false
    } catch (error) {
      if (!isRegistryError(error, 'EXTERNAL_ID_EXISTS')) throw error
      this.#looksFirst = true
    }
    return this.#isPresent(input)
  }

  /** The same in a dry run, where an earlier line that would have been created counts as an evidence. */
  async #check(input: NewEvidence): Promise<boolean> {
    assertCreatable(this.#categories, input)
    const digest = digestOf(input, placeIn(this.#categories, input))
    const earlier = this.#creatable.get(input.externalId)
    if (earlier !== undefined && earlier !== digest) throw externalIdInUse(input)
    if (earlier !== undefined || (await this.#isPresent(input))) return true
    this.#creatable.set(input.externalId, digest)
    return false
  }

  /** Whether there is an evidence of the same values. Throws if there is another one. */
  async #isPresent(input: NewEvidence): Promise<boolean> {
    const { registry, scope, isDryRun } = this.#options
    // It may be of a category that was created meanwhile.
    if (!isDryRun && pathIn(this.#categories, input) === undefined)
      this.#categories = await readCategories(registry, scope)
    return isPresent(registry, scope, input, pathIn(this.#categories, input))
  }
}

/** Of all that `isPresent` compares. An empty value is the same as none. */
function digestOf(input: NewEvidence, place: readonly unknown[]): string {
  const { name, owner = '', description = '', summary = '', meta = '' } = input
  const text = canonicalJson([place, name, owner, description, summary, meta])
  return createHash('sha256').update(text).digest('base64')
}

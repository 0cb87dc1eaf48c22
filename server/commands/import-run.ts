import { createHash } from 'node:crypto'
import {
  canonicalJson,
  isRegistryError,
  RegistryError,
  type EvidenceInput,
  type NewEvidence,
  type Registry,
  type Scope,
  type SubcategoryPath,
} from '../../core/index.ts'
import { defined } from '../contract/values.ts'
import { findExisting, type ExistingEvidence } from './import-existing.ts'
import { isObjectLine, MAX_LINE_BYTES, parseLine, tooLong } from './import-lines.ts'
import { linesOf } from './lines.ts'
import type { SubcategoryFinder } from './import-subcategories.ts'

/** Evidences in one bulk create: what the core accepts at most. */
const BULK_LINES = 1_000
/** Bulk creates that run at the same time: while one is synced to the disk, the next one is made. */
const MAX_RUNNING = 3
/** Lines that wait for their bulk create to fill, over all categories. It bounds the memory. */
const MAX_WAITING = 20_000

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

/** A line of the file that is valid by itself. */
interface ImportLine {
  /** 1, 2, … */
  readonly number: number
  readonly input: NewEvidence
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
  readonly subcategories: SubcategoryFinder
  /** Creates nothing, and counts what would be created. */
  readonly isDryRun: boolean
  readonly onRefused: (line: number, error: RegistryError) => void
  /** Called after each line with the number of bytes that were read. */
  readonly onProgress?: (counts: ImportCounts, bytes: number) => void
}

/**
 * Creates evidences from lines of JSON, in bulk by category. A line whose evidence exists already, created from the
 * same values, is counted as present, so a file can be imported again after an interruption. Of several lines with one
 * external id, the first one is created.
 *
 * @throws RegistryError with a code of `FATAL`, `CONFIG_ERROR` if the first line with content is not a JSON object,
 *   `VALIDATION_ERROR` at a line of more than 1 MiB, errors of `chunks`.
 *   Lines that come later than the failure may have been created, too
 */
export async function importLines(chunks: AsyncIterable<Uint8Array>, options: ImportOptions): Promise<ImportCounts> {
  const evidences = new EvidenceImport(options)
  let number = 0
  let bytes = 0
  let hasObjects = false
  for await (const lines of linesOf(chunks, MAX_LINE_BYTES, tooLong)) {
    for (const line of lines) {
      number += 1
      hasObjects ||= isObjectLine(line)
      bytes += line.length + 1
      await evidences.addLine(number, line)
      options.onProgress?.(evidences.counts, bytes)
    }
  }
  await evidences.finish()
  return evidences.counts
}

/** Lines of one bulk create. */
interface Bulk {
  readonly path: SubcategoryPath
  readonly lines: ImportLine[]
}

/** The lines that wait for their bulk creates, and the bulk creates that run. */
class EvidenceImport {
  readonly #options: ImportOptions
  readonly #waiting = new Map<string, Bulk>()
  #waitingCount = 0
  readonly #running = new Set<Promise<void>>()
  /** Of all lines that wait or are being created. */
  readonly #externalIds = new Set<string>()
  /** In a dry run, the digest of the values of each line that would have been created so far, by its external id. */
  readonly #creatable = new Map<string, string>()
  /**
   * Whether the next lines are looked up before they are created: so at first, and again after lines of which some are
   * present. A bulk create that is refused costs more than to look its lines up.
   */
  #isLookingUp = true
  #failure: { readonly error: unknown } | undefined
  readonly #counts = { created: 0, present: 0, refused: 0 }

  constructor(options: ImportOptions) {
    this.#options = options
  }

  get counts(): ImportCounts {
    return this.#counts
  }

  /** Adds the next line. Throws if an earlier line showed that the import cannot continue. */
  async addLine(number: number, line: Uint8Array): Promise<void> {
    try {
      const input = parseLine(line)
      if (input === undefined) return
      await this.#add({ number, input })
    } catch (error) {
      this.#refuse(number, error)
    }
  }

  async #add(line: ImportLine): Promise<void> {
    const { input } = line
    // Compared with the earlier line of this external id as if that were from an earlier import.
    if (this.#externalIds.has(input.externalId)) await this.finish()
    const path = this.#options.subcategories.find(input)
    if (path === undefined) return this.#createFirstOfCategory(line)
    this.#externalIds.add(input.externalId)
    const bulk = this.#bulkOf(path)
    bulk.lines.push(line)
    this.#waitingCount += 1
    if (bulk.lines.length === BULK_LINES) await this.#start(bulk)
    else if (this.#waitingCount === MAX_WAITING) await this.#start(this.#largest())
  }

  /** Reports a line that is not valid, or that was not created. Throws if the error is not about the line. */
  #refuse(number: number, error: unknown): void {
    if (!isRegistryError(error) || FATAL.includes(error.code)) throw error
    this.#counts.refused += 1
    this.#options.onRefused(number, error)
  }

  /** Creates what waits. */
  async finish(): Promise<void> {
    for (const bulk of this.#waiting.values()) await this.#start(bulk)
    await Promise.all(this.#running)
    this.#assertNotFailed()
  }

  #bulkOf(path: SubcategoryPath): Bulk {
    const key = `${path.categoryId} ${path.subcategoryId}`
    let bulk = this.#waiting.get(key)
    if (bulk === undefined) this.#waiting.set(key, (bulk = { path, lines: [] }))
    return bulk
  }

  #largest(): Bulk {
    return [...this.#waiting.values()].reduce((a, b) => (b.lines.length > a.lines.length ? b : a))
  }

  /** Starts a bulk create, as soon as not too many are running. */
  async #start({ path, lines: waiting }: Bulk): Promise<void> {
    const { isDryRun } = this.#options
    const lines = waiting.splice(0)
    this.#waitingCount -= lines.length
    while (this.#running.size >= MAX_RUNNING) await Promise.race(this.#running)
    this.#assertNotFailed()
    const run = this.#create(path, lines, isDryRun || this.#isLookingUp)
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => {
        this.#running.delete(run)
        for (const { input } of lines) this.#externalIds.delete(input.externalId)
      })
    this.#running.add(run)
  }

  #assertNotFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Creates the lines that are not present. Looks up which ones these are if `isLookUp`. */
  async #create(path: SubcategoryPath, lines: readonly ImportLine[], isLookUp: boolean): Promise<void> {
    const absent = isLookUp ? await this.#withoutExisting(path, lines) : lines
    this.#isLookingUp = absent.length < lines.length
    if (this.#options.isDryRun) this.#countCreatable(absent, path)
    else if (absent.length > 0) await this.#createAbsent(path, absent, isLookUp)
  }

  #countCreatable(lines: readonly ImportLine[], path: SubcategoryPath | undefined): void {
    for (const { input } of lines) this.#creatable.set(input.externalId, digestOf(input, path))
    this.#counts.created += lines.length
  }

  /** Creates all lines. If they are refused, finds out which of them are the reason. */
  async #createAbsent(path: SubcategoryPath, lines: readonly ImportLine[], wasLookedUp: boolean): Promise<void> {
    const { registry, scope } = this.#options
    try {
      const evidences = lines.map(({ input }) => evidenceOf(input))
      const created = await registry.evidences.createMany(scope, { ...path, evidences })
      this.#counts.created += created.length
    } catch (error) {
      if (!isRegistryError(error) || FATAL.includes(error.code)) throw error
      if (error.code === 'EXTERNAL_ID_EXISTS' && !wasLookedUp) return this.#create(path, lines, true)
      const [first, second] = lines
      if (second === undefined) return this.#refuse(first?.number ?? 0, error)
      const middle = lines.length >> 1
      await this.#createAbsent(path, lines.slice(0, middle), wasLookedUp)
      await this.#createAbsent(path, lines.slice(middle), wasLookedUp)
    }
  }

  /** Returns the lines whose external id is not in use; counts or reports the others. */
  async #withoutExisting(
    path: SubcategoryPath | undefined,
    lines: readonly ImportLine[],
  ): Promise<readonly ImportLine[]> {
    const found = await Promise.all(lines.map(({ input }) => this.#findExisting(input, path)))
    return lines.filter(({ number, input }, i) => {
      if (found[i] === 'same') this.#counts.present += 1
      else if (found[i] === 'different')
        this.#refuse(number, externalIdInUse(input, 'is in use for an evidence with other values'))
      return found[i] === 'absent'
    })
  }

  /** In a dry run, an earlier line that would have been created counts as an evidence. */
  async #findExisting(input: NewEvidence, path: SubcategoryPath | undefined): Promise<ExistingEvidence> {
    const { registry, scope } = this.#options
    const earlier = this.#creatable.get(input.externalId)
    if (earlier === undefined) return findExisting(registry, scope, input, path)
    return earlier === digestOf(input, path) ? 'same' : 'different'
  }

  /** Creates the evidence of a line whose category or subcategory does not exist yet, or is not valid. */
  async #createFirstOfCategory(line: ImportLine): Promise<void> {
    const { registry, scope, isDryRun, subcategories } = this.#options
    const { number, input } = line
    try {
      if (isDryRun) {
        subcategories.assertCreatable(input)
        this.#countCreatable(await this.#withoutExisting(undefined, [line]), undefined)
        return
      }
      await registry.evidences.create(scope, input)
      this.#counts.created += 1
      const { categoryId, subcategoryId } = (await registry.evidences.get(scope, input.externalId, { limit: 1 }))
        .evidence
      subcategories.learn(input, { categoryId, subcategoryId })
    } catch (error) {
      this.#refuse(number, error)
    }
  }
}

/**
 * Of all that `findExisting` compares. An empty value is the same as none. A category that does not exist has no path.
 */
function digestOf(input: NewEvidence, path: SubcategoryPath | undefined): string {
  const { category, subcategory, name, owner = '', description = '', summary = '', meta = '' } = input
  const text = canonicalJson([path ?? [category, subcategory], name, owner, description, summary, meta])
  return createHash('sha256').update(text).digest('base64')
}

/** The input without its category. Its members are named, because an object made of a rest is slow. */
const evidenceOf = ({ externalId, name, owner, description, summary, meta }: NewEvidence): EvidenceInput => ({
  externalId,
  name,
  ...defined({ owner, description, summary, meta }),
})

const externalIdInUse = ({ externalId }: NewEvidence, why: string): RegistryError =>
  new RegistryError('EXTERNAL_ID_EXISTS', `externalId ${JSON.stringify(externalId)} ${why}`)

import { createHash } from 'node:crypto'
import { isRegistryError, OPERATOR, type EvidenceSummary, type Registry, type Scope } from '../../../core/index.ts'
import { TILE_WIDTH } from '../../../core/log/index.ts'
import { verifyBundle, verifyLog, type Policy } from '../../../core/verify/index.ts'
import { checkProof } from '../../support/proof-by-hand.ts'
import { rememberingTokens } from '../../support/remembering-tokens.ts'
import { COMPANIES } from './template.ts'

/**
 * Whether a hash binds what was read. `operational`: source systems, audit trails, and what describes a category and
 * the title of a file. No proof covers these, so only damage is detected, not a record that fits its CRC-32.
 */
export type ReadingKind = 'bound' | 'operational'

/** One thing that a user can read from a registry. */
export interface Reading {
  readonly kind: ReadingKind
  /** As JSON. An error is `error CODE`. */
  readonly text: string
}

/** Everything that a registry says, by name, and whether the verifier accepts it. */
export interface Readings {
  readonly values: ReadonlyMap<string, Reading>
  /** Names of proofs that the verifier refuses, with the reason. */
  readonly refused: readonly string[]
  /** Names of readings that failed with a code that says that the store is damaged. */
  readonly failed: readonly string[]
}

const tokens = rememberingTokens()

const DAMAGE_CODES: ReadonlySet<string> = new Set(['CORRUPT', 'UNAVAILABLE', 'STORE_POISONED', 'LOG_KEY_MISMATCH'])
const PAGE = 1_000

/**
 * Reads everything, and verifies every proof with the pinned `policy`. `sampled`: evidences of which only one in ten is
 * proven.
 */
export async function readEverything(registry: Registry, policy: Policy, sampled: RegExp): Promise<Readings> {
  const reader = new Reader(registry, policy, sampled)
  await reader.readLog()
  for (const company of COMPANIES) await reader.readCompany(company)
  return reader.readings
}

class Reader {
  readonly #registry: Registry
  readonly #policy: Policy
  readonly #sampled: RegExp
  readonly #values = new Map<string, Reading>()
  readonly #refused: string[] = []
  readonly #failed: string[] = []

  constructor(registry: Registry, policy: Policy, sampled: RegExp) {
    this.#registry = registry
    this.#policy = policy
    this.#sampled = sampled
  }

  get readings(): Readings {
    return { values: this.#values, refused: this.#refused, failed: this.#failed }
  }

  /** Reads one thing. Returns `undefined` if that throws. */
  async #read<T>(kind: ReadingKind, name: string, read: () => Promise<T> | T): Promise<T | undefined> {
    try {
      const value = await read()
      this.#values.set(name, { kind, text: textOf(value) })
      return value
    } catch (error) {
      if (!isRegistryError(error)) throw error
      this.#values.set(name, { kind, text: `error ${error.code}` })
      if (DAMAGE_CODES.has(error.code)) this.#failed.push(`${name}: ${error.code}`)
      return undefined
    }
  }

  async readLog(): Promise<void> {
    const { log, checkpointKeys } = this.#registry
    await this.#read('bound', 'policy', () => log.policy())
    await this.#read('bound', 'keys', () => checkpointKeys.list())
    const checkpoint = await this.#read('bound', 'checkpoint', () => log.latestCheckpoint())
    const size = Number(checkpoint?.split('\n')[1] ?? 0)
    const openings: string[] = []
    for (let index = 0; index * TILE_WIDTH < size; index++) {
      const width = Math.min(TILE_WIDTH, size - index * TILE_WIDTH)
      await this.#read('bound', `tile 0/${index}`, () => log.tile({ level: 0, index, width }))
      await this.#read('bound', `entries ${index}`, () => log.entryBundle({ index, width }))
      openings.push(...((await this.#read('bound', `openings ${index}`, () => log.openings({ index, width }))) ?? []))
    }
    if (size > TILE_WIDTH)
      await this.#read('bound', 'tile 1/0', () =>
        log.tile({ level: 1, index: 0, width: Math.floor(size / TILE_WIDTH) }),
      )
    this.#verify('the log', () => {
      verifyLog(
        openings.map((hex) => Buffer.from(hex, 'hex')),
        { checkpoint: checkpoint ?? '' },
      )
    })
  }

  async readCompany(companyId: string): Promise<void> {
    const { companies, sourceSystems, categories, evidences } = this.#registry
    const scope: Scope = { companyId, principal: OPERATOR }
    await this.#read('operational', `${companyId} companies`, () => companies.list(OPERATOR))
    await this.#read('operational', `${companyId} source systems`, () => sourceSystems.list(scope))
    await this.#read('operational', `${companyId} audit`, () => sourceSystems.audit(scope))
    const listed = (await this.#read('operational', `${companyId} categories`, () => categories.list(scope))) ?? []
    for (const { files } of listed.flatMap((category) => [category, ...category.subcategories]))
      for (const { id } of files) await this.#readFile('operational', scope, id)
    await this.#read('bound', `${companyId} stolen`, () => evidences.list(scope, { status: 'stolen' }))
    await this.#read('bound', `${companyId} updated`, () => evidences.list(scope, { sort: 'updated', limit: PAGE }))
    await this.#read('bound', `${companyId} owner`, () => evidences.list(scope, { owner: `Owner of ${companyId}-c` }))
    const list = await this.#read('bound', `${companyId} evidences`, () => evidences.list(scope, { limit: PAGE }))
    for (const [i, evidence] of (list?.items ?? []).entries()) await this.#readEvidence(scope, evidence, i)
  }

  async #readEvidence(scope: Scope, { id, externalId }: EvidenceSummary, index: number): Promise<void> {
    const { evidences, proofs } = this.#registry
    const name = `${scope.companyId} ${externalId}`
    const history = await this.#read('bound', `${name} history`, () =>
      evidences.get(scope, externalId, { disclose: true, limit: 500 }),
    )
    if (this.#sampled.test(externalId) && index % 10 > 0) return
    const files = await this.#read('operational', `${name} files`, () => evidences.files(scope, externalId))
    for (const file of files?.evidence ?? []) await this.#readFile('bound', scope, file.id)
    for (const { txId, batch } of history?.events ?? []) {
      await this.#readProof(`${name} transaction ${txId}`, () => proofs.transaction(txId))
      await this.#read('bound', `${name} root ${txId}`, () => proofs.root(txId))
      if (batch !== null) await this.#readBatch(batch.id)
    }
    await this.#readProof(`${name} proof`, () => proofs.evidence({ evidenceId: id }))
    for (const fileId of fileIdsOf(history?.events ?? []))
      await this.#readProof(`${name} proof of ${fileId}`, () => proofs.file({ evidenceId: id, fileId }))
    await this.#readBundle(`${name} bundle`, () =>
      proofs.bundle(scope, { externalId, fields: 'all', files: 'all', history: true }),
    )
  }

  async #readBatch(id: string): Promise<void> {
    if (this.#values.has(`batch ${id}`)) return
    await this.#read('bound', `batch ${id}`, () => this.#registry.log.batchById(id))
    await this.#read('bound', `token of ${id}`, () => this.#registry.proofs.timestampToken(id))
  }

  /** Reads the bytes of a file. */
  async #readFile(kind: ReadingKind, scope: Scope, fileId: string): Promise<void> {
    const { files } = this.#registry
    await this.#read(kind, `${scope.companyId} file ${fileId}`, async () => {
      const file = await files.find(scope, { fileId })
      const hash = createHash('sha256')
      for await (const chunk of await files.read(file)) hash.update(chunk)
      return { ...file, read: hash.digest('hex') }
    })
  }

  async #readProof(name: string, read: () => Promise<Parameters<typeof checkProof>[0]>): Promise<void> {
    const document = await this.#read('bound', name, read)
    if (document === undefined) return
    this.#verify(name, () => checkProof(document, this.#policy, tokens))
  }

  async #readBundle(name: string, read: () => Promise<object>): Promise<void> {
    const document = await this.#read('bound', name, read)
    if (document === undefined) return
    this.#verify(name, () => {
      const result = verifyBundle(textOf(document), { policy: this.#policy, tokens })
      if (result.state !== 'proven') throw new Error(result.state === 'refuted' ? result.reason : result.state)
    })
  }

  #verify(name: string, verify: () => void): void {
    try {
      verify()
    } catch (error) {
      this.#refused.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

/** Every file that an event attached or deleted. */
function fileIdsOf(events: readonly { readonly disclosure?: { readonly filesText?: string } }[]): ReadonlySet<string> {
  return new Set(events.flatMap(({ disclosure }) => Object.keys(JSON.parse(disclosure?.filesText ?? '{}') as object)))
}

const textOf = (value: unknown): string =>
  JSON.stringify(value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value) ?? 'undefined'

/** Names of the readings that differ. */
export function differencesOf(before: Readings, after: Readings): readonly string[] {
  const names = new Set([...before.values.keys(), ...after.values.keys()])
  return [...names].filter((name) => before.values.get(name)?.text !== after.values.get(name)?.text)
}

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it as nodeIt, type TestContext } from 'node:test'
import { MemoryBlobs, MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import { encodeUtf8 } from '../../core/bytes.ts'
import {
  openRegistry,
  OPERATOR,
  type BlobStore,
  type NewEvidence,
  type PermissionLevel,
  type RecordStore,
  type Registry,
  type RegistryOptions,
  type Scope,
  type StagedFile,
} from '../../core/index.ts'
import { fsck } from '../../core/ops/index.ts'
import { keys, keysUnder } from '../../core/store/keys.ts'
import { decorateRecords } from '../../core/store/decorate.ts'
import { listEntries } from '../../core/store/read.ts'
import { decodeRecord } from '../../core/store/codec.ts'
import type { DeletedFileRecord, FileRecord } from '../../core/store/records.ts'
import { createSealer, InlineEngine, type SealerOptions } from '../../sealer/index.ts'
import { CrashableProcess } from './crashable-process.ts'
import { ManualClock, settle } from './manual-clock.ts'
import { testSigner } from './test-signer.ts'
import { CountingBlobs } from './counting-blobs.ts'

export const COMPANY = 'acme'
const YEAR_MS = 365 * 24 * 3_600_000

/** The stores of one registry, and its clock. They outlive every process that uses them. */
export class Stores {
  readonly records = new MemoryRecords()
  readonly signedHead = new MemorySignedHead()
  readonly clock = new ManualClock()
  readonly secret = new Uint8Array(32).fill(7)
  readonly blobs: BlobStore & { readonly kept: ReadonlySet<string> } = new CountingBlobs(new MemoryBlobs())

  /** Every key of a family, in order. */
  async keysOf(family: string): Promise<string[]> {
    const entries = await listEntries(this.records, keysUnder(family))
    return entries.map(({ key }) => key)
  }

  /**
   * The numbers of upload intents and pending deletions, the ids of the blobs that records use, and the keys of stored
   * blobs. If nothing was left behind, both numbers are 0 and both lists are equal.
   */
  async blobState(): Promise<BlobState> {
    const entries = await listEntries(this.records, keys.files())
    const files = entries.map((entry) => decodeRecord<FileRecord | DeletedFileRecord>(entry))
    // A small file is in its record.
    const attached = files.filter((file) => !('deletion' in file || 'content' in file))
    return {
      intents: (await this.keysOf('bi')).length,
      pendingDeletions: (await this.keysOf('bd')).length,
      files: attached.map(({ id }) => id).sort(),
      stored: [...this.blobs.kept].sort(),
    }
  }
}

export interface BlobState {
  readonly intents: number
  readonly pendingDeletions: number
  readonly files: readonly string[]
  readonly stored: readonly string[]
}

export interface FixtureOptions {
  /** The registry is closed after this test. */
  readonly t?: TestContext
  readonly stores?: Stores
  readonly sealer?: SealerOptions
  readonly registry?: Partial<RegistryOptions>
  /** Members of the record store that differ from those of the memory. */
  readonly records?: Partial<RecordStore>
}

/** A registry in one process. Batches are sealed by `sealNow` only, and the time changes only with `clock.advance`. */
/** Counts how often the store is asked for a version of an evidence. */
export function countVersionReads(stores: Stores) {
  const reads = { count: 0 }
  const get: RecordStore['get'] = (wanted) => {
    reads.count += wanted.filter((key) => key.startsWith('vh/')).length
    return stores.records.get(wanted)
  }
  return { stores, records: { get }, reads }
}

export interface Fixture extends Pick<Registry, 'categories' | 'evidences' | 'files' | 'proofs' | 'sourceSystems'> {
  readonly stores: Stores
  readonly clock: ManualClock
  readonly process: CrashableProcess
  readonly registry: Registry
  /** The operator in `COMPANY`, which exists. */
  readonly scope: Scope
  /** Creates a source system of this level, and returns its scope and key. */
  readonly system: (
    permissions: PermissionLevel,
    companyId?: string,
  ) => Promise<{ readonly scope: Scope; readonly id: string; readonly apiKey: string }>
  readonly stage: (content?: string, name?: string, mimeType?: string) => Promise<StagedFile>
  /** Creates an evidence in Tools/Drills, unless the input selects another category. Returns its external id. */
  readonly evidence: (input?: Partial<NewEvidence>) => Promise<string>
  /** Lets hours pass. Seals first, because a sealer with an open batch wakes up four times a second. */
  readonly wait: (hours: number) => Promise<void>
  readonly close: () => Promise<void>
}

export async function openFixture({
  t,
  stores = new Stores(),
  sealer,
  registry: more,
  records = {},
}: FixtureOptions = {}): Promise<Fixture> {
  const { clock, signedHead, secret } = stores
  const process = new CrashableProcess(stores.records, stores.blobs)
  const registry = await openRegistry({
    records: decorateRecords(process.records, records),
    blobs: process.blobs,
    signedHead,
    secret,
    checkpointSigner: testSigner(),
    clock,
    // Most tests are about blobs. `small-files.test.ts` is about the others.
    smallFileBytes: 0,
    sealer: createSealer({
      engine: new InlineEngine(),
      maxWaitMs: YEAR_MS,
      pollIntervalMs: YEAR_MS,
      tsaIntervalMs: 0,
      anchorIntervalMs: 0,
      ...sealer,
    }),
    ...more,
  })
  t?.after(() => registry.close())
  // Waits for the first sweep.
  await settle()
  const scope: Scope = { companyId: COMPANY, principal: OPERATOR }
  const system: Fixture['system'] = async (permissions, companyId = COMPANY) => {
    const apiKey = `key-${randomUUID()}`
    const operator: Scope = { companyId, principal: OPERATOR }
    const { id } = await registry.sourceSystems.create(operator, { name: apiKey, apiKey, permissions })
    const principal = await registry.sourceSystems.authenticate({ companyId, apiKey })
    if (principal === undefined) throw new Error('The key of a new source system was rejected')
    return { scope: { companyId, principal }, id, apiKey }
  }
  const [company] = await stores.records.get([keys.company(COMPANY)])
  if (company === undefined) await registry.sourceSystems.create(scope, { name: 'first' })
  const { categories, evidences, files, proofs, sourceSystems } = registry
  return {
    categories,
    evidences,
    files,
    proofs,
    sourceSystems,
    stores,
    clock,
    process,
    registry,
    scope,
    system,
    stage: (content = 'content', name = 'note.txt', mimeType = 'text/plain') =>
      registry.files.stage(scope, { name, mimeType, body: bodyOf(content) }, { maxBytes: 1_000 }),
    evidence: async (input = {}) => {
      const externalId = input.externalId ?? 'e-1'
      await registry.evidences.create(scope, {
        ...inCategory('Tools', 'Drills'),
        name: 'A drill',
        ...input,
        externalId,
      })
      return externalId
    },
    wait: async (hours) => {
      await registry.sealNow()
      await clock.advance(hours * 3_600_000)
    },
    close: () => registry.close(),
  }
}

/** The proof document as the variant with this status. Fails if it has another one. */
export function withStatus<Document extends { readonly status: string }, Status extends Document['status']>(
  document: Document,
  status: Status,
): WithStatus<Document, Status> {
  assert.equal(document.status, status)
  return document as WithStatus<Document, Status>
}

type WithStatus<Document, Status> = Document extends { readonly status: infer Own }
  ? Status extends Own
    ? Document
    : never
  : never

/** Selects a category and a subcategory by their names. */
export const inCategory = (category: string, subcategory: string) => ({
  category: { name: category },
  subcategory: { name: subcategory },
})

type FixtureTest = (fixture: Fixture) => Promise<void>

/** As `it` of `node:test`, for a test of a registry, which is closed after it. */
export function it(name: string, ...rest: [FixtureTest] | [FixtureOptions, FixtureTest]): void {
  const [options, test] = rest.length === 1 ? [{}, rest[0]] : rest
  void nodeIt(name, async (t) => test(await openFixture({ t, ...options })))
}

export async function* bodyOf(...chunks: readonly string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const chunk of chunks) yield encodeUtf8(chunk)
}

/** Fails the test at the first difference that `fsck` finds. */
export async function assertIntact({ stores: { records, blobs } }: Pick<Fixture, 'stores'>): Promise<void> {
  await fsck({ records, blobs }, { onDifference: (difference) => assert.fail(JSON.stringify(difference)) })
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EvidenceQuery, HistoryQuery, Cacheable, Registry } from '../../../core/index.ts'
import { fromHex } from '../../../core/bytes.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { LogReader } from '../../../core/log/reader.ts'
import type { AnchorHeadRecord, StampRecord } from '../../../core/log/records.ts'
import { putRecord } from '../../../core/store/entries.ts'
import { present } from '../../support/present.ts'
import { withStatus } from '../../support/registry-fixture.ts'
import { openFilledRegistry, type FilledRegistry } from '../../support/sealed-registry.ts'

type Scope = FilledRegistry['scope']

/** A conditional read that remembers its last result. */
class Reader {
  readonly #read: (cached: Cacheable | undefined) => Promise<Cacheable>
  #cached: Cacheable | undefined
  #json = ''

  constructor(read: (cached: Cacheable | undefined) => Promise<Cacheable>) {
    this.#read = read
  }

  /** Whether the known result is returned. `json`: what it contained when it was read. */
  async next(): Promise<{ readonly isCached: boolean; readonly json: string }> {
    const result = await this.#read(this.#cached)
    const isCached = result === this.#cached
    if (!isCached) this.#json = JSON.stringify(result)
    this.#cached = result
    return { isCached, json: this.#json }
  }

  async isCached(): Promise<boolean> {
    return (await this.next()).isCached
  }
}

const ofEvidence = ({ evidences }: Registry, scope: Scope, externalId: string, query: HistoryQuery = {}) =>
  new Reader((cached) => evidences.getIfChanged(scope, externalId, query, cached))
const ofList = ({ evidences }: Registry, scope: Scope, query: EvidenceQuery = {}) =>
  new Reader((cached) => evidences.listIfChanged(scope, query, cached))
const ofProof = ({ proofs }: Registry, evidenceId: string, companyId?: string) =>
  new Reader((cached) =>
    proofs.evidenceIfChanged({ evidenceId, ...(companyId !== undefined && { companyId }) }, cached),
  )

const HISTORIES: readonly HistoryQuery[] = [{}, { limit: 1 }, { after: 1 }, { disclose: true }]
const LISTS: readonly EvidenceQuery[] = [{}, { limit: 1 }, { status: 'stolen' }, { sort: 'updated' }, { owner: 'x' }]
const PROVEN = ['drill/4711', 'plain', 'späť "\u2028', 'none', '']

/** Every kind of conditional read, each with the plain read that it must agree with. */
const allReads = ({ registry, scope }: FilledRegistry): readonly (readonly [Reader, () => Promise<object>])[] => [
  ...['plain', 'drill/4711'].flatMap((externalId) =>
    HISTORIES.map((query) => {
      const plain = () => registry.evidences.get(scope, externalId, query)
      return [ofEvidence(registry, scope, externalId, query), plain] as const
    }),
  ),
  ...LISTS.map((query) => [ofList(registry, scope, query), () => registry.evidences.list(scope, query)] as const),
  ...PROVEN.map(
    (evidenceId) => [ofProof(registry, evidenceId), () => registry.proofs.evidence({ evidenceId })] as const,
  ),
]

/** Compares twice, because the second result may be the cached one. */
async function compare(reads: ReturnType<typeof allReads>): Promise<void> {
  for (const [reader, plain] of [...reads, ...reads])
    assert.equal((await reader.next()).json, JSON.stringify(await plain()))
}

describe('a conditional read', () => {
  it('has what the plain read has, after every change', async (t) => {
    const sealed = await openFilledRegistry(t)
    const { registry, scope, records, settle } = sealed
    const reads = allReads(sealed)
    const names = { category: { name: 'Tools' }, subcategory: { name: 'Drills' } }
    const create = (externalId: string) => registry.evidences.create(scope, { ...names, externalId, name: 'x' })
    const changes: readonly (() => Promise<unknown>)[] = [
      async () => undefined,
      () => create('späť "\u2028'),
      () => registry.evidences.update(scope, 'plain', { name: 'Renamed' }),
      () => registry.evidences.update(scope, 'plain', { owner: 'x' }),
      () => registry.sealNow(),
      settle,
      async () => registry.evidences.update(scope, 'plain', { files: [await sealed.stage('a', 'a.txt')] }),
      settle,
      () => registry.evidences.erase(scope, 'plain', { fields: ['name', 'owner'], reason: 'request' }),
      // As another server would.
      () => renameAuthority(sealed),
      () => records.commit({ writes: [putRecord(logKeys.anchorHead(), { ...NOTHING_CONFIRMED, sentSize: 1e6 })] }),
    ]
    for (const change of changes) {
      await change()
      await compare(reads)
    }
  })

  it('returns a result for what is cached of another kind of read', async (t) => {
    const { registry, scope } = await openFilledRegistry(t)
    const page = await registry.evidences.listIfChanged(scope, {}, undefined)
    assert.notEqual(await registry.evidences.getIfChanged(scope, 'plain', {}, page), page)
    assert.notEqual(await registry.proofs.evidenceIfChanged({ evidenceId: 'plain' }, page), page)
    assert.notEqual(await registry.evidences.listIfChanged(scope, {}, { state: {} }), page)
  })
})

const NOTHING_CONFIRMED: AnchorHeadRecord = {
  confirmedSize: 0,
  sentSize: 0,
  outstanding: 0,
  unsettled: [],
  accounts: [],
}

/** Changes the stamp that covers an evidence. */
async function renameAuthority({ registry, records }: FilledRegistry): Promise<void> {
  const { merkle } = withStatus(await registry.proofs.evidence({ evidenceId: 'plain' }), 'ok')
  const stamp = present(await new LogReader(records).stampCovering(merkle.treeSize))
  const renamed: StampRecord = { ...stamp, tokens: stamp.tokens.map((token) => ({ ...token, authority: 'another' })) }
  await records.commit({
    writes: [putRecord(logKeys.stamp(stamp.size), renamed), putRecord(logKeys.stampHead(), { size: stamp.size })],
  })
}

describe('an evidence that is cached', () => {
  it('is read again only if it or the status of an event changed, or one is not sealed', async (t) => {
    const { registry, records, scope, settle } = await openFilledRegistry(t)
    await settle()
    const reader = ofEvidence(registry, scope, 'plain')
    const twice = async () => [await reader.isCached(), await reader.isCached()]
    const once = [false, true]
    assert.deepEqual(await twice(), once)
    await registry.evidences.update(scope, 'drill/4711', { name: 'Renamed' })
    assert.deepEqual(await twice(), [true, true], 'another evidence')
    await registry.evidences.update(scope, 'plain', { name: 'Renamed' })
    assert.deepEqual(await twice(), [false, false], 'not sealed')
    await registry.sealNow()
    assert.deepEqual(await twice(), once, 'it waits for its anchor')
    await settle()
    assert.deepEqual(await twice(), once)
    const head = await new LogReader(records).anchorHead()
    const setHead = (sizes: Partial<AnchorHeadRecord>) =>
      records.commit({ writes: [putRecord(logKeys.anchorHead(), { ...head, ...sizes })] })
    await setHead({ confirmedSize: head.confirmedSize + 1, sentSize: head.sentSize + 1 })
    assert.deepEqual(await twice(), [true, true], 'a later anchor')
    await setHead({ confirmedSize: 0 })
    assert.deepEqual(await twice(), once, 'the chain has dropped the anchor')
    await setHead({ confirmedSize: 0, sentSize: 0 })
    assert.deepEqual(await twice(), once, 'nothing is sent any more')
    await setHead({})
    assert.deepEqual(await twice(), once, 'it is confirmed again')
  })
})

describe('a list that is cached', () => {
  it('is read again only if the log or an anchor changed', async (t) => {
    const { registry, records, scope, settle } = await openFilledRegistry(t)
    await settle()
    const readers = [ofList(registry, scope), ofList(registry, scope, { limit: 1 })]
    const twice = async (): Promise<boolean[]> => {
      const cached: boolean[] = []
      for (const reader of readers) cached.push(await reader.isCached(), await reader.isCached())
      return cached
    }
    const once = [false, true, false, true]
    assert.deepEqual(await twice(), once)
    await registry.evidences.update(scope, 'plain', { name: 'Renamed' })
    assert.deepEqual(await twice(), once)
    await settle()
    assert.deepEqual(await twice(), once)
    await records.commit({ writes: [putRecord(logKeys.anchorHead(), await new LogReader(records).anchorHead())] })
    assert.deepEqual(await twice(), once)
  })
})

describe('the proof of an evidence that is cached', () => {
  it('is made again only if the evidence changed, also while later batches are stamped and anchored', async (t) => {
    const { registry, scope, settle } = await openFilledRegistry(t)
    await settle()
    for (const reader of [ofProof(registry, 'plain'), ofProof(registry, 'plain', 'acme')]) {
      const twice = async () => [await reader.isCached(), await reader.isCached()]
      assert.deepEqual(await twice(), [false, true])
      await registry.evidences.update(scope, 'plain', { updateType: 'repair' })
      assert.deepEqual(await twice(), [false, true])
      // A later stamp and a later anchor change nothing of what covers this event.
      await settle()
      assert.deepEqual(await twice(), [true, true])
    }
  })
})

describe('a list', () => {
  it('has the blocks of events all over the log', async (t) => {
    const { registry, scope, records, settle } = await openFilledRegistry(t)
    const { evidence } = await registry.evidences.get(scope, 'plain')
    const subcategory = { categoryId: evidence.categoryId, subcategoryId: evidence.subcategoryId }
    const createMany = (name: string, count: number) => {
      const evidences = Array.from({ length: count }, (_, i) => ({ externalId: `${name} ${i}`, name }))
      return registry.evidences.createMany(scope, { ...subcategory, evidences })
    }
    await createMany('early', 150)
    await settle()
    await createMany('late', 200)
    for (const i of [3, 90, 149]) await registry.evidences.update(scope, `early ${i}`, { name: 'Renamed' })
    await settle()
    await createMany('unsealed', 40)
    await registry.evidences.update(scope, 'early 5', { name: 'Renamed' })

    const log = new LogReader(records)
    const blocks = new Set<number | undefined>()
    for (const limit of [1_000, 60, 20]) {
      const { items } = await registry.evidences.list(scope, { limit })
      for (const { txId, blockNumber } of items.flatMap((item) => [item, item.lastEvent])) {
        const [position = NaN] = await records.positionsOf([fromHex(txId) ?? new Uint8Array()])
        const [expected] = await (await log.anchors()).blocksOf([position])
        assert.equal(blockNumber, expected)
        blocks.add(expected)
      }
    }
    assert.ok(blocks.has(undefined) && blocks.size > 2, 'events in several blocks and in none')
  })
})

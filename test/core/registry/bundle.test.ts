import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openLocalLedger } from '../../../adapters/local-ledger/index.ts'
import { openLocalTsa } from '../../../adapters/local-tsa/index.ts'
import { Bundle, LogPolicy } from '../../../core/schemas/bundle.ts'
import { toHex } from '../../../core/bytes.ts'
import { bundleUnits, MAX_BUNDLE_UNITS } from '../../../core/registry/proof/bundle-proofs.ts'
import type { VouchedTree } from '../../../core/registry/proof/vouched-tree.ts'
import { VouchedTrees } from '../../../core/registry/proof/vouched-trees.ts'
import { parseCheckpoint } from '../../../core/log/checkpoint.ts'
import { leafHash } from '../../../core/log/tree/hash.ts'
import { verifyInclusion } from '../../../core/log/tree/proof.ts'
import { EVENT_FIELDS } from '../../../core/commitment/event-format.ts'
import { validate } from '../../../core/schemas/validation.ts'
import { parsePolicy, verifyBundle } from '../../../core/verify/index.ts'
import { tokens as verifier } from '../../../core/verify/tokens.ts'
import { ManualClock, until } from '../../support/manual-clock.ts'
import {
  countVersionReads,
  openFixture,
  it,
  Stores,
  type Fixture,
  type FixtureOptions,
} from '../../support/registry-fixture.ts'
import { H } from '../../support/commitment-reference.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'
import { type ErrorCode } from '../../../core/index.ts'

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** Every entry of the bundle is in the tree of each checkpoint that it names. */
function assertIncluded({ events, keys, checkpoints }: Bundle): void {
  const trees = new Map(checkpoints.map(({ note }) => [parseCheckpoint(note).size, parseCheckpoint(note).root]))
  assert.equal(trees.size, checkpoints.length)
  for (const { opening, position = -1, inclusion } of [...events, ...keys])
    for (const { treeSize, path } of inclusion) {
      const root = trees.get(treeSize)
      assert.ok(root, `a checkpoint of size ${treeSize}`)
      const leaf = leafHash(H(bytes(opening)))
      verifyInclusion({ leafHash: leaf, leafIndex: position, treeSize, proof: path.map(bytes), root })
    }
}

const sizesOf = ({ events }: Bundle) => events.map(({ inclusion }) => inclusion.map(({ treeSize }) => treeSize))

describe('the proof bundle', () => {
  const directory = temporaryOfSuite()

  async function open(name: string, options: FixtureOptions): Promise<Fixture & { settle: () => Promise<void> }> {
    const clock = new ManualClock()
    const fixture = await openFixture({
      ...options,
      sealer: {
        anchor: await openLocalLedger(`${directory}/${name}/ledger`, { clock }),
        timestampAuthority: await openLocalTsa(`${directory}/${name}/tsa`, { clock, keepsLastStamp: false }),
        pollIntervalMs: 1_000,
      },
    })
    const settle = () =>
      until(async () => {
        await Promise.all([clock.advance(2_000), fixture.clock.advance(2_000)])
        const { sealedSize, stampedSize, anchoredSize } = fixture.registry.status()
        return stampedSize === sealedSize && anchoredSize === sealedSize
      })
    return { ...fixture, settle }
  }

  test('discloses and stamps the selected versions, and refuses what a verifier would', async (t) => {
    const { registry, scope, evidence, settle } = await open('versions', { t })
    await evidence({ owner: 'Ada' })
    for (const description of ['2', '3', '4', '5']) {
      await registry.evidences.update(scope, 'e-1', { description })
      await registry.sealNow()
      await settle()
    }
    await registry.evidences.update(scope, 'e-1', { description: 'pending' })
    const whole = { externalId: 'e-1', fields: 'all', files: 'all' } as const
    const [all, third] = await Promise.all([
      registry.proofs.bundle(scope, whole),
      registry.proofs.bundle(scope, { ...whole, versions: { from: 3, to: 3 } }),
    ])
    assertIncluded(third)
    const shown = (bundle: Bundle) => bundle.events.map(({ fields }) => fields !== undefined)
    assert.deepEqual(shown(all), [true, true, true, true, true, true])
    assert.deepEqual(shown(third), [false, false, true, false, false, false])
    assert.deepEqual(sizesOf(third)[2], sizesOf(all)[2])
    assert.deepEqual(new Set(sizesOf(third).flat()), new Set([...(sizesOf(all)[2] ?? []), ...(sizesOf(all)[4] ?? [])]))
    const policy = parsePolicy(JSON.stringify(await registry.log.policy()))
    assert.equal(verifyBundle(JSON.stringify(third), { policy, tokens: verifier }).state, 'pending')

    const meta = { values: Array.from({ length: 32_000 }, () => 1) }
    for (let i = 0; i < 64; i++) await registry.evidences.update(scope, 'e-1', { meta: { ...meta, i } })
    await rejectsWith('BUNDLE_TOO_LARGE', registry.proofs.bundle(scope, whole))
    await registry.proofs.bundle(scope, { ...whole, versions: { from: 10, to: 12 } })
    await registry.proofs.bundle(scope, { ...whole, fields: ['description'] })
  })

  test('reads no further than there is room, counted as a verifier counts', async (t) => {
    const { reads, ...options } = countVersionReads(new Stores())
    const { registry, scope, evidence } = await openFixture({ t, ...options })
    const whole = { fields: 'all', files: 'all' } as const
    const refuse = async (externalId: string, count: number, valuesOf: (i: number) => object): Promise<void> => {
      await evidence({ externalId })
      for (let i = 0; i < count; i++) await registry.evidences.update(scope, externalId, valuesOf(i))
      reads.count = 0
      await rejectsWith('BUNDLE_TOO_LARGE', registry.proofs.bundle(scope, { ...whole, externalId }))
    }
    const [quotes, commas, someCommas] = ['"'.repeat(30_000), ','.repeat(60_000), ','.repeat(8_000)]
    await refuse('quotes', 320, (i) => ({ meta: { i, quotes } }))
    assert.ok(reads.count > 250 && reads.count < 300, `${reads.count} reads`)
    await refuse('commas', 120, (i) => ({ meta: { i, commas } }))
    assert.ok(reads.count > 30 && reads.count < 70, `${reads.count} reads`)
    // These are few, but long.
    const texts = ['description', 'summary', 'updateDescription', 'eventDescription']
    const textsOf = (i: number) => Object.fromEntries(texts.map((name) => [name, `${i}${someCommas}`]))
    await refuse('few', 24, (i) => ({ ...textsOf(i), meta: { i, commas } }))
  })

  test('gives fewer versions a checkpoint of their own if certificates and lists cost too much', async (t) => {
    const { registry, scope, evidence, settle } = await open('lists', { t })
    await evidence({})
    const count = 8
    for (let version = 1; version <= count; version++) {
      if (version > 1) await registry.evidences.update(scope, 'e-1', { description: `${version}` })
      await registry.sealNow()
      await settle()
    }
    const whole = { externalId: 'e-1', fields: 'all', files: 'all' } as const
    const own = new Set(sizesOf(await registry.proofs.bundle(scope, whole)).map(String)).size
    // eslint-disable-next-line typescript/unbound-method -- it is called with its object
    const { vouchersOf } = VouchedTrees.prototype
    t.mock.method(
      VouchedTrees.prototype,
      'vouchersOf',
      async function (this: VouchedTrees, trees: readonly VouchedTree[]) {
        const vouchers = await vouchersOf.call(this, trees)
        const lists = Array.from({ length: 40 * trees.length }, () => ({ type: 'crl', data: 'AAAA' }) as const)
        return { ...vouchers, validationData: lists }
      },
    )
    const bundle = await registry.proofs.bundle(scope, whole)
    const stepped = new Set(sizesOf(bundle).map(String)).size
    assert.ok(own === count && stepped > 1 && stepped < own, `${stepped} of ${own}`)
    assert.ok(bundleUnits(bundle) <= MAX_BUNDLE_UNITS)
  })

  test('gives only some versions a checkpoint of their own if a verifier would refuse all of them', async (t) => {
    const { registry, scope, evidence, settle } = await open('many', { t })
    await evidence({ owner: 'Ada' })
    const count = 100
    for (let version = 1; version <= count; version++) {
      if (version > 1) await registry.evidences.update(scope, 'e-1', { description: `${version}` })
      await registry.sealNow()
      await settle()
    }
    const whole = { externalId: 'e-1', fields: 'all', files: 'all' } as const
    const bundle = await registry.proofs.bundle(scope, whole)
    const policy = parsePolicy(JSON.stringify(await registry.log.policy()))
    const result = verifyBundle(JSON.stringify(bundle), { policy, tokens: verifier, require: ['timestamp', 'anchor'] })
    assert.equal(result.state, 'proven')
    const sizes = sizesOf(bundle)
    assert.deepEqual([sizes.length, new Set(sizes.map(String)).size], [count, count / 2 + 1])
    // What is chosen has its own.
    const some = await registry.proofs.bundle(scope, { ...whole, versions: { from: 2, to: 9 } })
    assert.equal(new Set(sizesOf(some).slice(1, 9).map(String)).size, 8)
  })

  test('proves every event under the earliest stamped and anchored checkpoints', async (t) => {
    const { registry, scope, evidence, settle } = await open('earliest', { t })
    await evidence({ owner: 'Ada' })
    const all = { externalId: 'e-1', fields: 'all', files: 'all' } as const
    const pending = validate(Bundle, await registry.proofs.bundle(scope, all))
    assert.deepEqual([sizesOf(pending), pending.checkpoints, pending.keys.length], [[[]], [], 1])

    await registry.sealNow()
    await settle()
    await registry.evidences.update(scope, 'e-1', { owner: 'Grace', description: 'x' })
    await registry.sealNow()
    await settle()
    const bundle = validate(Bundle, await registry.proofs.bundle(scope, all))
    assertIncluded(bundle)
    const [first = [], second = [], third = []] = sizesOf(bundle)
    assert.ok(first.every((size) => size < Math.min(...second)))
    assert.deepEqual(second, third)
    assert.equal(bundle.checkpoints.flatMap(({ tokens }) => tokens).length, 2)
    assert.equal(bundle.checkpoints.flatMap(({ anchors }) => anchors).length, 2)
    assert.deepEqual(
      bundle.keys[0]?.inclusion.map(({ treeSize }) => treeSize),
      bundle.checkpoints.map(({ note }) => parseCheckpoint(note).size),
    )
    const { evidence: stored } = await registry.evidences.get(scope, 'e-1')
    assert.deepEqual(bundle.subject, { type: 'evidence', txId: stored.txId })
    assert.equal(toHex(H(bytes(bundle.events[0]?.opening ?? ''))), stored.txId)
    assert.deepEqual(bundle.claimedPolicy, validate(LogPolicy, await registry.log.policy()))
    assert.equal(bundle.claimedPolicy?.chains[0]?.type, 'local')
    assert.match(bundle.checkpoints.flatMap(({ anchors }) => anchors)[0]?.proof ?? '', /^\{"height":/)
  })

  it('discloses what the caller selects', async ({ registry, scope, evidence, stage }) => {
    await evidence({ owner: 'Ada', files: [await stage(), await stage('other')] })
    const [file] = (await registry.evidences.files(scope, 'e-1')).evidence
    const disclosed = async (selection: object) => {
      const request = { externalId: 'e-1', fields: 'none', files: 'none', ...selection } as const
      const [event] = (await registry.proofs.bundle(scope, request)).events
      return [Object.keys(event?.fields ?? {}), Object.keys(event?.files ?? {})]
    }
    assert.deepEqual(await disclosed({}), [[], []])
    assert.deepEqual(await disclosed({ fields: ['owner', 'summary'] }), [['owner'], []])
    assert.deepEqual(await disclosed({ files: [file?.id] }), [[], [file?.id]])
    const [fields, files] = await disclosed({ fields: 'all', files: 'all' })
    assert.deepEqual([fields?.includes('owner'), fields?.includes('slotKey'), files?.length], [true, false, 2])
    assert.deepEqual((await disclosed({ history: true }))[0], ['slotKey'])
    assert.deepEqual((await disclosed({ fields: ['slotKey'], history: true }))[0], ['slotKey'])
  })

  it('accepts the names of all fields that events have, and no others', async (fixture) => {
    const { registry, scope, evidence, stage } = fixture
    const texts = { description: 'd', summary: 's', meta: { a: 1 } }
    await evidence({ owner: 'Ada', ...texts, image: await stage('image', 'a.png', 'image/png') })
    await registry.evidences.update(scope, 'e-1', {
      name: 'another',
      owner: 'Grace',
      updateType: 'stolen',
      updateDescription: 'u',
      persona: 'p',
      eventDescription: 'e',
    })
    const all = { externalId: 'e-1', fields: 'all', files: 'none', history: true } as const
    const { events } = await registry.proofs.bundle(scope, all)
    const names = new Set(events.flatMap(({ fields }) => Object.keys(fields ?? {})))
    assert.deepEqual([...names].sort(), [...EVENT_FIELDS].sort())
    const named = await registry.proofs.bundle(scope, { ...all, fields: [...names] })
    assert.deepEqual(
      named.events.map(({ fields }) => fields),
      events.map(({ fields }) => fields),
    )
  })

  it('rejects a selection that is malformed', async ({ registry, scope, evidence, system }) => {
    await evidence()
    const whole = { externalId: 'e-1', fields: 'none', files: 'none' } as const
    const refuse = (selection: object, code: ErrorCode) =>
      rejectsWith(code, registry.proofs.bundle(scope, { ...whole, ...selection }))
    await refuse({ fields: undefined }, 'VALIDATION_ERROR')
    await refuse({ fields: [] }, 'VALIDATION_ERROR')
    await refuse({ files: 'some' }, 'VALIDATION_ERROR')
    await refuse({ fields: ['slotKey'] }, 'VALIDATION_ERROR')
    await refuse({ fields: ['name', 'colour'] }, 'VALIDATION_ERROR')
    await refuse({ fields: ['toString'], history: true }, 'VALIDATION_ERROR')
    await refuse({ files: ['x'] }, 'FILE_NOT_FOUND')
    await refuse({ externalId: 'e-2' }, 'EVIDENCE_NOT_FOUND')
    const { scope: other } = await system('R', 'another')
    await rejectsWith(
      'EVIDENCE_NOT_FOUND',
      registry.proofs.bundle(other, { externalId: 'e-1', fields: 'none', files: 'none' }),
    )
  })

  it('shows anyone only hashes', async ({ registry, scope, evidence, stage }) => {
    // A short id can be a part of a random UUID.
    await evidence({ externalId: 'drill 4711', owner: 'Ada', files: [await stage()] })
    const [file] = (await registry.evidences.files(scope, 'drill 4711')).evidence
    const fileId = file?.id ?? ''
    const publicBundle = async (id?: string) => {
      const result = await registry.proofs.publicBundle({ evidenceId: 'drill 4711', ...(id && { fileId: id }) })
      assert.ok(result.status === 'ok')
      return validate(Bundle, result.bundle)
    }
    const creation = await publicBundle()
    assert.deepEqual(Object.keys(creation.events[0] ?? {}), ['opening', 'inclusion'])
    const attached = await publicBundle(fileId)
    assert.deepEqual(Object.keys(attached.events[0] ?? {}), ['opening', 'inclusion', 'filesText', 'filesSalt'])
    await registry.files.delete(scope, { fileId })
    const deleted = await publicBundle(fileId)
    assert.equal(deleted.events.length, 2)
    const text = deleted.events[1]?.files?.[fileId]?.text
    assert.deepEqual(JSON.parse(text ?? ''), { deleted: creation.subject.txId, id: fileId })
    assert.deepEqual(deleted.subject, { type: 'file', txId: creation.subject.txId, fileId })
    for (const secret of ['Ada', 'acme', 'note.txt', 'text/plain', 'drill 4711'])
      for (const bundle of [creation, attached, deleted]) assert.ok(!JSON.stringify(bundle).includes(secret), secret)
    await registry.sealNow()
    const { evidence: found } = await registry.evidences.get(scope, 'drill 4711')
    const last = await registry.proofs.eventBundle(found.lastTxId)
    assert.ok(last.status === 'ok')
    assert.deepEqual(Object.keys(last.bundle.events[0] ?? {}), ['opening', 'position', 'inclusion'])
    assert.equal(verifyBundle(JSON.stringify(last.bundle), {}).state, 'consistent')
    const [key = ''] = (await registry.log.openings({ index: 0, width: 1 })) ?? []
    for (const [txId, status] of [
      ['x', 'invalid'],
      ['00'.repeat(32), 'not_found'],
      [toHex(H(bytes(key))), 'not_found'],
    ] as const)
      assert.equal((await registry.proofs.eventBundle(txId)).status, status)
    assert.equal((await registry.proofs.publicBundle({ evidenceId: 'none' })).status, 'not_found')
    assert.equal((await registry.proofs.publicBundle({ evidenceId: 'drill 4711', fileId: 'x' })).status, 'invalid')
  })
})

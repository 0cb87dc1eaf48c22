import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { isRegistryError } from '../../../core/errors.ts'
import type { BlobStore, RecordStore } from '../../../core/index.ts'
import { fsck, Scrub } from '../../../core/ops/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { keys } from '../../../core/store/keys.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { present } from '../../support/present.ts'
import { COMPANY, openFixture, Stores, type Fixture, type FixtureOptions } from '../../support/registry-fixture.ts'

/** Who finds that a stored part is not what was recorded, although its CRC-32 is right. */
type Finder = 'verify' | 'transaction' | 'disclose' | 'bundle' | 'public bundle' | 'fsck' | 'scrub'

/** Also reads the stores while they are not changed: only what was found to be wrong is `CORRUPT`. */
async function isCorrupt(read: Promise<unknown>): Promise<boolean> {
  try {
    await read
    return false
  } catch (error) {
    assert.ok(isRegistryError(error, 'CORRUPT'), String(error))
    return true
  }
}

interface Source extends Pick<Fixture, 'registry' | 'scope'> {
  readonly records: RecordStore
  readonly blobs: BlobStore
  /** Of the creation. */
  readonly txId: string
}

const FINDERS: Readonly<Record<Finder, (source: Source) => Promise<boolean>>> = {
  verify: ({ registry }) => isCorrupt(registry.proofs.evidence({ evidenceId: 'e-1' })),
  transaction: ({ registry, txId }) => isCorrupt(registry.proofs.transaction(txId)),
  disclose: ({ registry, scope }) => isCorrupt(registry.evidences.get(scope, 'e-1', { disclose: true })),
  bundle: ({ registry, scope }) =>
    isCorrupt(registry.proofs.bundle(scope, { externalId: 'e-1', fields: 'none', files: 'none' })),
  'public bundle': ({ registry }) => isCorrupt(registry.proofs.publicBundle({ evidenceId: 'e-1' })),
  async fsck({ records, blobs }) {
    let differences = 0
    await fsck({ records, blobs }, { onDifference: () => (differences += 1) })
    return differences > 0
  },
  async scrub({ registry, records, blobs }) {
    const clock = new ManualClock()
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const { origin } = registry.log
    const pace = { bytesPerSecond: 1_000_000, intervalMs: 24 * 3_600_000 }
    const scrub = new Scrub({ records, blobs, origin, ...pace, clock, logger, save: async () => undefined })
    while (scrub.status().lastCompleteAt === null) await clock.advance(1_000)
    await scrub.close()
    return scrub.status().differences > 0
  },
}

async function foundBy(
  t: TestContext,
  { txId, ...options }: FixtureOptions & { readonly stores: Stores; readonly txId: string },
): Promise<Finder[]> {
  const { registry, scope, stores } = await openFixture({ t, ...options })
  const records = decorateRecords(stores.records, options.records ?? {})
  const found: Finder[] = []
  for (const finder of Object.keys(FINDERS) as Finder[])
    if (await FINDERS[finder]({ registry, scope, records, blobs: stores.blobs, txId })) found.push(finder)
  return found
}

/** An evidence with a value for each field and with a file; `key`: of its record. */
async function write() {
  const stores = new Stores()
  const { registry, scope, evidence, stage, close } = await openFixture({ stores })
  const texts = { owner: 'Ada', description: 'Blue', summary: 'A tool', meta: { a: 1 } }
  const [image, file] = [await stage('image', 'a.png', 'image/png'), await stage('text', 'a.txt')]
  await evidence({ ...texts, image, files: [file] })
  await registry.sealNow()
  const { id, txId } = (await registry.evidences.get(scope, 'e-1')).evidence
  await close()
  return { stores, key: keys.evidence(COMPANY, id), txId }
}

const READERS: readonly Finder[] = ['verify', 'disclose', 'bundle', 'public bundle', 'fsck', 'scrub']

/** The parts of a stored evidence (`core/store/evidence-form.ts`): a text in its JSON, and another one for it. */
const RECORD_PARTS: readonly (readonly [part: string, text: RegExp, other: string])[] = [
  ['external id', /"e-1"/, '"e-2"'],
  ['category', /(,"\w{8}-\w{4}-\w{4}-\w{4}-)\w{12}/, '$1ffffffffffff'],
  ['name', /A drill/, 'A Drill'],
  ['txId', /("[0-9a-f]{63})[0-9a-f]"/, '$1x"'],
  ['slot key', /"[\w+/]{4}([\w+/]{39}=","[\w+/]{43}=")/, '"AAAA$1'],
  ['seed of the salts', /"[\w+/]{4}([\w+/]{39}=",\{)/, '"AAAA$1'],
  ['actor', /operator/, 'Operator'],
  ['owner', /Ada/, 'Eva'],
  ['description', /Blue/, 'Bleu'],
  ['summary', /A tool/, 'A Tool'],
  ['meta', /"a":1/, '"a":2'],
  ['name of a file', /a\.txt/, 'b.txt'],
  ['hash of a file', /("sha256":")\w{4}/, '$10000'],
]

const OPENING: readonly Finder[] = ['transaction', 'fsck', 'scrub']

/** The parts of the payload of its event in the log (`core/log/payload.ts`), by a byte in each of them. */
const PAYLOAD_PARTS: readonly (readonly [part: string, at: number, finders: readonly Finder[]])[] = [
  ['tag', 0, OPENING],
  ['slot', 20, OPENING],
  ['time', 55, OPENING],
  ['header', 60, OPENING],
  ['files', 100, OPENING],
  ['evidence', 130, ['fsck', 'scrub']],
  ['version', 143, ['fsck', 'scrub']],
  ['action', 144, ['fsck', 'scrub']],
  ['company', 145, ['fsck', 'scrub']],
]

describe('a flip', () => {
  it('is the only reason: without one no finding', async (t) => {
    assert.deepEqual(await foundBy(t, await write()), [])
  })

  for (const [part, text, other] of RECORD_PARTS)
    it(`in the record, ${part}: found by ${READERS.join(', ')}`, async (t) => {
      const { stores, key, txId } = await write()
      const [stored] = await stores.records.get([key])
      const before = Buffer.from(present(stored).value).toString()
      const after = before.replace(text, other)
      assert.notEqual(after, before, before)
      await stores.records.commit({ writes: [{ key, value: Buffer.from(after) }] })
      assert.deepEqual(await foundBy(t, { stores, txId }), READERS)
    })

  for (const [part, at, finders] of PAYLOAD_PARTS)
    it(`in the log's payload, ${part}: found by ${finders.join(', ')}`, async (t) => {
      const { stores, txId } = await write()
      const [position] = await stores.records.positionsOf([Buffer.from(txId, 'hex')])
      const readPayloads = async (from: number, count: number): Promise<readonly Uint8Array[]> => {
        const payloads = await stores.records.readPayloads(from, count)
        const payload = payloads[present(position) - from]
        if (payload !== undefined) payload[at] = present(payload[at]) ^ 1
        return payloads
      }
      assert.deepEqual(await foundBy(t, { stores, txId, records: { readPayloads } }), finders)
    })
})

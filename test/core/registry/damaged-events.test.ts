import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { toHex } from '../../../core/bytes.ts'
import type { Key } from '../../../core/ports/index.ts'
import { eventInRecord } from '../../../core/store/evidence.ts'
import { keys } from '../../../core/store/keys.ts'
import { COMPANY, openFixture, Stores, type Fixture } from '../../support/registry-fixture.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'

/** An evidence with a file that its second event attaches, and one that its third event deletes. */
interface Written {
  readonly stores: Stores
  readonly kept: string
  readonly deleted: string
  /** The keys of the records that hold the three events. */
  readonly events: readonly [Key, Key, Key]
}

async function write(): Promise<Written> {
  const stores = new Stores()
  const { registry, scope, evidence, stage, close } = await openFixture({ stores })
  const deleted = await stage('first', 'first.txt')
  await evidence({ files: [deleted] })
  const kept = await stage('second', 'second.txt')
  await registry.evidences.update(scope, 'e-1', { files: [kept] })
  await registry.files.delete(scope, { fileId: deleted.id })
  await registry.sealNow()
  const {
    evidence: { id },
    events,
  } = await registry.evidences.get(scope, 'e-1')
  assert.equal(events.length, 3)
  await close()
  const [first, second, third] = [1, 2, 3].map((version) => keys.event(COMPANY, id, version)) as [Key, Key, Key]
  return { stores, kept: kept.id, deleted: deleted.id, events: [first, second, third] }
}

/** Opens the registry again after a text in a record was replaced: a right CRC-32, but not the committed value. */
async function openChanged(t: TestContext, { stores }: Written, key: Key, change: readonly [RegExp, string]) {
  const [entry] = await stores.records.get([key])
  const text = Buffer.from(entry?.value ?? []).toString()
  const changed = text.replace(...change)
  assert.notEqual(changed, text, `${change[0]} in ${text}`)
  await stores.records.commit({ writes: [{ key, value: Buffer.from(changed) }] })
  const fixture = await openFixture({ t, stores })
  return fixture
}

type Prove = (fixture: Fixture, written: Written) => Promise<unknown>

const evidenceId = 'e-1'
const bundle: Prove = ({ registry, scope }) =>
  registry.proofs.bundle(scope, { externalId: evidenceId, fields: 'none', files: 'none' })

/** Each proof that reads the event. */
const PROOFS: readonly (readonly [version: 1 | 2 | 3, name: string, prove: Prove])[] = [
  [1, 'proof of the evidence', ({ registry }) => registry.proofs.evidence({ evidenceId })],
  [1, 'public bundle of the evidence', ({ registry }) => registry.proofs.publicBundle({ evidenceId })],
  [1, 'bundle', bundle],
  [2, 'proof of a file', ({ registry }, { kept: fileId }) => registry.proofs.file({ evidenceId, fileId })],
  [
    2,
    'public bundle of a file',
    ({ registry }, { kept: fileId }) => registry.proofs.publicBundle({ evidenceId, fileId }),
  ],
  [2, 'bundle', bundle],
  [3, 'proof of a deleted file', ({ registry }, { deleted: fileId }) => registry.proofs.file({ evidenceId, fileId })],
  [
    3,
    'public bundle of a deleted file',
    ({ registry }, { deleted: fileId }) => registry.proofs.publicBundle({ evidenceId, fileId }),
  ],
  [3, 'bundle', bundle],
]

/** The name of the evidence in its first event, and the times of the others. */
const CHANGES = {
  1: [/A drill/, 'A Drill'],
  2: [/"time":\d/, '"time":2'],
  3: [/"time":\d/, '"time":2'],
} as const satisfies Readonly<Record<number, readonly [RegExp, string]>>

describe('an event that does not hash to its txId', () => {
  for (const [version, name, prove] of PROOFS)
    it(`is not shown: version ${version} in the ${name}`, async (t) => {
      const written = await write()
      const fixture = await openChanged(t, written, written.events[version - 1] as Key, CHANGES[version])
      await rejectsWith('CORRUPT', prove(fixture, written))
    })

  it('is the only reason: without a change every proof is returned', async (t) => {
    const written = await write()
    const fixture = await openFixture({ t, stores: written.stores })
    for (const [, name, prove] of PROOFS)
      assert.notEqual(((await prove(fixture, written)) as { readonly status?: string }).status, 'not_found', name)
  })
})

describe('an event that the log does not find by its txId', () => {
  for (const [version, name, prove] of PROOFS) {
    const hasPosition = name.startsWith('proof')
    const end = hasPosition ? 'is proven at the position in its record' : 'is not shown as if it waited for a batch'
    it(`${end}: version ${version} in the ${name}`, async (t) => {
      const written = await write()
      const [event] = await written.stores.records.get([written.events[version - 1] as Key])
      const { txId } = eventInRecord(event ?? assert.fail('the event is missing'))
      const fixture = await openFixture({ t, stores: written.stores })
      const { records } = written.stores
      fixture.process.records.positionsOf = async (entries) =>
        (await records.positionsOf(entries)).map((position, i) =>
          toHex(entries[i] as Uint8Array) === txId ? undefined : position,
        )
      if (!hasPosition) return rejectsWith('CORRUPT', prove(fixture, written))
      assert.equal('merkle' in ((await prove(fixture, written)) as object), true)
    })
  }

  /** With another position of the first event in the record, where it is behind the txId of the last event. */
  const proveAt = async (t: TestContext, position: string) => {
    const written = await write()
    const { registry } = await openChanged(t, written, written.events[0], [/(?<="[0-9a-f]{64}",)1(?=,\d)/, position])
    return registry.proofs.evidence({ evidenceId })
  }

  it('is not proven at the position of another event', (t) => rejectsWith('CORRUPT', proveAt(t, '2')))

  it('is not shown as if it waited for a batch because its record has a position that no batch has', async (t) => {
    assert.equal((await proveAt(t, '900')).status, 'ok')
  })
})

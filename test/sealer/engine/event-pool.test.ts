import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import workerThreads from 'node:worker_threads'
import fc from 'fast-check'
import { toHex } from '../../../core/bytes.ts'
import { createIdSource } from '../../../core/ids.ts'
import {
  isRegistryError,
  type CompanyId,
  type EventEngine,
  type Evidence,
  type EvidenceId,
  type EvidenceInput,
  type Logger,
} from '../../../core/index.ts'
import { makeEvidences, type CreateTarget, type MadeEvidence } from '../../../core/registry/evidence/make.ts'
import { packRequest, unpackEvidences } from '../../../core/registry/evidence/bulk-creates.ts'
import { decodeRecord } from '../../../core/store/read.ts'
import { keys, isInRange } from '../../../core/store/keys.ts'
import type { EvidenceRecord } from '../../../core/store/records.ts'
import { metaText } from '../../../core/schemas/validation.ts'
import { WorkerPool } from '../../../sealer/engine/worker-pool.ts'
import { EventPool } from '../../../sealer/index.ts'
import { ManualClock, settle } from '../../support/manual-clock.ts'
import { moduleUrl } from '../../support/repository.ts'
import { withRegistry, type Fixture } from '../../support/registry-fixture.ts'
import { temporaryFor } from '../../support/temporary.ts'

const crashingWorker = moduleUrl('test/support/crashing-worker.ts')
const BULK = 150

const ids = createIdSource(new ManualClock())

const targetOf = (names: Readonly<Record<'origin' | 'actor' | 'companyId', string>>): CreateTarget => ({
  origin: names.origin,
  actor: names.actor,
  companyId: names.companyId as CompanyId,
  categoryId: ids.next(),
  subcategoryId: ids.next(),
  files: { files: [] },
})

const emptyRequest = packRequest({
  target: targetOf({ origin: 'log', actor: 'operator', companyId: 'acme' }),
  drafts: [],
})

const numbered = (count: number): EvidenceInput[] =>
  Array.from({ length: count }, (_, i) => ({
    externalId: `e ${i}/ü`,
    name: `Evidence ${i}`,
    ...(i % 2 === 0 && { owner: 'Ada' }),
    ...(i % 3 === 0 && { meta: { 7: i, b: [1.5, null], a: 'é\n' } }),
  }))

async function createPath({ registry: { categories }, scope }: Fixture) {
  const { id: categoryId } = await categories.create(scope, { name: 'C' })
  const { id: subcategoryId } = await categories.create(scope, { name: 'S' }, { parent: categoryId })
  return { categoryId, subcategoryId }
}

describe('EventPool', () => {
  const pool = new EventPool({ maxThreads: 2 })
  after(() => pool.close())

  it('makes the same bytes as the calling thread', async () => {
    const text = (max: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength: max })
    const meta = fc
      .dictionary(text(8), fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }))
      // Values that the registry rejects do not reach an engine.
      .filter((value) => isAccepted(value))
    const input = fc.record(
      { externalId: text(40), name: text(40), owner: text(20), description: text(60), summary: text(60), meta },
      { requiredKeys: ['externalId', 'name'] },
    )
    const names = fc.record({ origin: text(20), actor: text(20), companyId: text(20) })
    await fc.assert(
      fc.asyncProperty(names.map(targetOf), fc.array(input, { maxLength: 20 }), async (target, inputs) => {
        const request = {
          target,
          drafts: inputs.map((each) => ({ id: ids.next<EvidenceId>(), input: each as EvidenceInput })),
        }
        const made = unpackEvidences(await pool.makeEvidences(packRequest(request)), request.drafts)
        const secrets = evidenceRecordsOf(made).map(({ slotKey, first: { salts } }) => ({
          slotKey,
          seed: String(salts),
        }))
        const again = makeEvidences(request, (i) => secrets[i] ?? assert.fail('an evidence is missing'))
        assert.deepEqual(plain(made), plain(again))
        assert.equal(new Set(secrets.flatMap(({ slotKey, seed }) => [slotKey, seed])).size, 2 * inputs.length)
      }),
    )
  })

  it('throws ENGINE_FAILED for the calls of a worker that exits', async () => {
    const crashing = new EventPool({ worker: crashingWorker })
    try {
      const calls = [crashing.makeEvidences(''), crashing.makeEvidences(''), crashing.makeEvidences('')]
      await Promise.all(calls.map((call) => assert.rejects(call, { code: 'ENGINE_FAILED' })))
      await assert.rejects(crashing.makeEvidences(''), { code: 'ENGINE_FAILED' })
    } finally {
      await crashing.close()
    }
  })

  it('fails the tasks of a worker whose module never finishes to load', async () => {
    const worker = () => moduleUrl('test/support/hanging-worker.ts')
    const options = { worker, task: 'evidences', maxThreads: 1, tasksPerWorker: 1, startTimeoutMs: 1 }
    const hanging = new WorkerPool<string, void>(options)
    try {
      const run = await hanging.open()
      await Promise.all([run(''), run('')].map((call) => assert.rejects(call, /No worker was ready in time/)))
      assert.equal(hanging.failures.count, 1)
      await assert.rejects((await hanging.open())(''), /No worker was ready in time/)
    } finally {
      await hanging.close()
    }
  })

  it('continues with new workers after a failure', async () => {
    await assert.rejects(pool.makeEvidences('not JSON'), { code: 'ENGINE_FAILED' })
    assert.deepEqual(unpackEvidences(await pool.makeEvidences(emptyRequest), []), [])
  })

  it('throws ENGINE_FAILED if its workers cannot be started, and can be closed then', async () => {
    const withoutWorkers = new EventPool({ maxThreads: -1 })
    for (const request of [emptyRequest, emptyRequest])
      await assert.rejects(withoutWorkers.makeEvidences(request), { code: 'ENGINE_FAILED' })
    const call = withoutWorkers.makeEvidences(emptyRequest)
    await Promise.all([assert.rejects(call, { code: 'ENGINE_FAILED' }), withoutWorkers.close()])
  })

  it('throws ENGINE_FAILED while its workers cannot load their module, and works when it is back', async (t) => {
    const worker = pathToFileURL(join(await temporaryFor(t), 'worker.mjs'))
    const returning = new EventPool({ worker })
    t.after(() => returning.close())
    for (const content of [undefined, 'process.exit()', 'export const evidence = 1', 'import "./missing.mjs"']) {
      if (content !== undefined) await writeFile(worker, content)
      const calls = [returning.makeEvidences(''), returning.makeEvidences(''), returning.makeEvidences('')]
      await Promise.all(calls.map((call) => assert.rejects(call, { code: 'ENGINE_FAILED' })))
    }
    assert.deepEqual(returning.failures, { count: 4, isFailing: true })
    await writeFile(worker, 'export const evidences = (request) => request')
    assert.equal(await returning.makeEvidences('made'), 'made')
    assert.deepEqual(returning.failures, { count: 4, isFailing: false })
  })

  it('throws ENGINE_FAILED while no thread can start', async (t) => {
    const crowded = new EventPool()
    t.after(() => crowded.close())
    const threads = t.mock.method(workerThreads, 'Worker', function refuse() {
      throw new Error('EAGAIN')
    })
    const calls = [crowded.makeEvidences(emptyRequest), crowded.makeEvidences(emptyRequest)]
    await Promise.all(calls.map((call) => assert.rejects(call, { code: 'ENGINE_FAILED' })))
    threads.mock.restore()
    assert.deepEqual(unpackEvidences(await crowded.makeEvidences(emptyRequest), []), [])
  })

  it('finishes the calls under way when it is closed, and rejects later ones', async () => {
    const closing = new EventPool()
    const call = closing.makeEvidences(emptyRequest)
    await closing.close()
    assert.deepEqual(unpackEvidences(await call, []), [])
    await assert.rejects(closing.makeEvidences(''), { code: 'CLOSED' })
    await closing.close()
  })
})

describe('a registry with an event engine', () => {
  it('creates evidences in bulk that read and prove as others do', () =>
    withRegistry(
      async (fixture) => {
        const { registry, scope } = fixture
        const path = await createPath(fixture)
        const inputs = numbered(BULK)
        const created = await registry.evidences.createMany(scope, { ...path, evidences: inputs })
        await registry.sealNow()
        for (const [i, input] of inputs.entries()) {
          const { evidence } = await registry.evidences.get(scope, input.externalId, { disclose: true })
          assert.deepEqual(inputOf(evidence), input)
          assert.deepEqual(created[i], { id: evidence.id, type: 'create', txId: evidence.txId, version: 1 })
        }
        const proof = await registry.proofs.evidence({ evidenceId: inputs[BULK - 1]?.externalId ?? '' })
        assert.equal(proof.status, 'ok')
        assert.equal((await registry.evidences.list(scope, { owner: 'ada' })).count, BULK / 2)
      },
      { registry: { eventEngine: new EventPool() } },
    ))

  it('throws the same errors as without one, and then has created nothing', async () => {
    const wrong: readonly unknown[] = [
      { externalId: 'x' },
      { externalId: 'x', name: '' },
      { externalId: 'x', name: 'x', owner: 1 },
      { externalId: 'x', name: 'x', meta: { a: -0 } },
      { externalId: 'x', name: 'x', meta: { a: '\ud800' } },
      { externalId: 'x', name: 'x', meta: { a: new Date() } },
      { externalId: 'x', name: 'x', meta: { a: 'x'.repeat(65 * 1024) } },
      { externalId: 'e 3/ü', name: 'twice in the call' },
      { externalId: 'taken', name: 'x' },
    ]
    const errorsOf = async (eventEngine?: EventEngine): Promise<unknown[]> => {
      const errors: unknown[] = []
      await withRegistry(
        async (fixture) => {
          const { registry, scope, evidence, stores } = fixture
          const path = await createPath(fixture)
          await evidence({ externalId: 'taken' })
          const size = await stores.records.logSize()
          for (const each of wrong) {
            const evidences = numbered(BULK).with(77, each as EvidenceInput)
            const error = await registry.evidences.createMany(scope, { ...path, evidences }).catch((e: unknown) => e)
            assert.ok(isRegistryError(error))
            errors.push([error.code, error.field, error.message])
          }
          assert.equal(await stores.records.logSize(), size)
        },
        eventEngine && { registry: { eventEngine } },
      )
      return errors
    }
    assert.deepEqual(await errorsOf(new EventPool()), await errorsOf())
  })

  it('need not work: evidences are made without an engine that fails', async () => {
    const lines: string[] = []
    const logger: Logger = { debug() {}, info() {}, error() {}, warn: (_, message) => void lines.push(message) }
    const eventEngine = new EventPool({ worker: crashingWorker })
    await withRegistry(
      async (fixture) => {
        const { registry, scope, stores } = fixture
        const path = await createPath(fixture)
        const size = await stores.records.logSize()
        const created = await registry.evidences.createMany(scope, { ...path, evidences: numbered(BULK) })
        assert.equal(created.length, BULK)
        assert.equal(await stores.records.logSize(), size + BULK)
        assert.deepEqual(lines, ['the event engine failed: these evidences are made without it'])
        const { failures, currentFailures } = registry.status()
        assert.deepEqual(failures.engine, { count: 1, lastCode: 'ENGINE_FAILED' })
        assert.deepEqual(currentFailures, ['ENGINE_FAILED'])
      },
      { registry: { eventEngine, logger } },
    )
  })

  it('commits a bulk create that is under way when it is closed', async () => {
    const pool = new EventPool()
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const eventEngine: EventEngine = {
      makeEvidences: async (request) => {
        await released
        return pool.makeEvidences(request)
      },
      close: () => pool.close(),
    }
    await withRegistry(
      async (fixture) => {
        const { registry, scope, stores } = fixture
        const path = await createPath(fixture)
        const size = await stores.records.logSize()
        const created = registry.evidences.createMany(scope, { ...path, evidences: numbered(BULK) })
        await settle()
        const closing = registry.close()
        release()
        assert.equal((await created).length, BULK)
        await closing
        assert.equal(await stores.records.logSize(), size + BULK)
      },
      { registry: { eventEngine } },
    )
  })

  it('makes few evidences in the calling thread', () =>
    withRegistry(
      async (fixture) => {
        const path = await createPath(fixture)
        const created = await fixture.registry.evidences.createMany(fixture.scope, { ...path, evidences: numbered(3) })
        assert.equal(created.length, 3)
      },
      { registry: { eventEngine: { makeEvidences: () => assert.fail('not used'), close: async () => {} } } },
    ))
})

/** The members of an evidence that a caller gives. */
const inputOf = ({ externalId, name, owner, meta }: Evidence): EvidenceInput => ({
  externalId,
  name,
  ...(owner !== undefined && { owner }),
  ...(meta !== undefined && { meta }),
})

function isAccepted(meta: unknown): boolean {
  try {
    metaText(meta)
    return true
  } catch {
    return false
  }
}

const evidenceRecordsOf = (made: readonly MadeEvidence[]): readonly EvidenceRecord[] =>
  made
    .flatMap(({ writes }) => writes)
    .flatMap(({ key, value }) =>
      value !== null && isInRange(key, keys.evidences()) ? [decodeRecord<EvidenceRecord>({ key, value })] : [],
    )

/** With hex instead of bytes, which differ in their buffers. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, member: unknown) => (member instanceof Uint8Array ? toHex(member) : member)))

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { after, before, describe, it } from 'node:test'
import { MemoryBlobs } from '../../../adapters/memory/index.ts'
import { RegistryError, type RecordStore } from '../../../core/index.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { createInstruments } from '../../../server/index.ts'
import { OperatorReadings } from '../../../server/startup/readings.ts'
import { rejectsWith } from '../../contract/blob-bodies.ts'
import { bodyOf } from '../../support/registry-fixture.ts'
import { serviceFor, startService, type Service } from '../../support/service.ts'
import { dashboardExpressions, monitoring } from '../../support/monitoring.ts'

const METRIC = /\b(?:evidence|process|nodejs)_[a-z_]+\b/g

/** The value of a metric without labels. */
async function valueOf(service: Service, name: string): Promise<number> {
  const text = await service.metrics()
  const [, value] = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text) ?? []
  return Number(value)
}

describe('monitoring', () => {
  let service: Service
  let mustFail = false
  const wrapRecords = (inner: RecordStore) =>
    decorateRecords(inner, {
      async commit(commit) {
        if (mustFail) throw new RegistryError('UNAVAILABLE', 'the store is away')
        return inner.commit(commit)
      },
    })
  before(async () => {
    service = await startService({ wrapRecords, moreMetrics: new OperatorReadings(tmpdir(), undefined).metrics() })
  })
  after(() => service.close())

  const create = (externalId: string, key: string) =>
    service.call('createEvidence', {
      key,
      params: { COMPANY_ID: 'acme' },
      json: { categoryName: 'C', subcategoryName: 'S', externalId, name: 'E' },
    })

  it('shows latencies, the anchor lag and errors, and no waiting entry after everything is sealed', async () => {
    const { keys } = await service.company('acme')
    await create('e', keys.U)
    const isDone = async (): Promise<boolean> => {
      const { logSize, sealedSize, anchoredSize } = service.registry.status()
      // The token of the stamp stays unsealed until the next event.
      return sealedSize > 0 && anchoredSize >= sealedSize && logSize > sealedSize
    }
    await service.until(isDone, 'it is sealed, stamped and anchored')
    await service.until(async () => (await valueOf(service, 'evidence_log_unsealed_entries')) === 0, 'no event waits')
    await service.until(async () => (await valueOf(service, 'evidence_anchor_lag_seconds')) === 0, 'no batch waits')
    for (const step of ['commit', 'seal', 'stamp', 'anchor'])
      assert.ok((await valueOf(service, `evidence_${step}_duration_seconds_count`)) > 0, step)
    assert.ok((await valueOf(service, 'evidence_anchor_duration_seconds_sum')) < 60)
    mustFail = true
    await create('f', keys.U)
    mustFail = false
    assert.ok((await valueOf(service, 'evidence_store_errors_total')) >= 1)
  })

  it('counts no fault of a client as an error of a store', async () => {
    const instruments = createInstruments()
    const blobs = instruments.observeBlobs(new MemoryBlobs())
    await rejectsWith('PAYLOAD_TOO_LARGE', blobs.put('a', bodyOf('12'), { maxBytes: 1 }))
    await blobs.put('a', bodyOf('1'), { maxBytes: 1 })
    await rejectsWith('RANGE_NOT_SATISFIABLE', blobs.get('a', { start: 0, end: 2 }))
    await rejectsWith('UNAVAILABLE', blobs.put('a', bodyOf('1'), { maxBytes: 1 }))
    await blobs.close()
    await rejectsWith('CLOSED', blobs.get('a'))
    const counted = (await instruments.metrics.metrics()).match(/^evidence_blob_errors_total.+$/gm)
    assert.deepEqual(counted, ['evidence_blob_errors_total{code="UNAVAILABLE"} 1'])
  })

  it('counts events that wait for a batch', async (t) => {
    const still = await serviceFor(t, { sealMaxWaitMs: 3_600_000 })
    const { keys } = await still.company('acme')
    for (const externalId of ['a', 'b', 'c'])
      await still.ok('createEvidence', {
        key: keys.U,
        params: { COMPANY_ID: 'acme' },
        json: { categoryName: 'C', subcategoryName: 'S', externalId, name: 'E' },
      })
    await still.until(async () => (await valueOf(still, 'evidence_log_unsealed_entries')) >= 3, 'they are counted')
  })

  it('shows whether it is ready, and the metrics of the program around it', async () => {
    assert.equal(await valueOf(service, 'evidence_ready'), 1)
    assert.match(await service.metrics(), /\nevidence_disk_free_bytes\{folder="\."\} [1-9]/)
  })

  it('uses only metrics in alerts and dashboard that the service has', async () => {
    const text = await service.metrics()
    const declared = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name))
    const rules = readFileSync(monitoring('alerts.yaml'), 'utf8')
    const names = [rules, ...dashboardExpressions()].flatMap((expression) => expression.match(METRIC) ?? [])
    assert.ok(names.length > 30)
    const unknown = names.filter(
      (name) => !declared.has(name) && !declared.has(name.replace(/_(?:bucket|sum|count)$/, '')),
    )
    assert.deepEqual(unknown, [])
  })
})

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Scrub } from '../../../core/ops/index.ts'
import { createApp, listen } from '../../../server/index.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { startConfiguredScrub } from '../../../server/startup/scrub.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { VERSION } from '../../../server/version.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { silentLogger } from '../../support/silent-logger.ts'

interface Fixture {
  readonly scrub: Scrub | undefined
  readonly clock: ManualClock
  readonly url: string
  readonly stop: () => Promise<void>
}

/** So long that a second pass begins in no test, however often the clock is advanced while a file is read. */
const INTERVAL_MS = 366 * 24 * 60 * 60 * 1_000

async function open(t: TestContext, dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<Fixture> {
  const config = loadConfig({
    args: [],
    env: {
      EVIDENCE_DATA_DIR: dataDir,
      EVIDENCE_SEAL_MAX_WAIT_MS: '20',
      EVIDENCE_SCRUB_INTERVAL_MS: String(INTERVAL_MS),
      ...env,
    },
  })
  const opened = await openConfiguredRegistry(config, silentLogger)
  const clock = new ManualClock()
  const scrub = await startConfiguredScrub({ config, logger: silentLogger, opened, clock })
  const { registry, instruments } = opened
  const app = createApp({
    ...config,
    registry,
    instruments,
    logger: silentLogger,
    scrubStatus: () => scrub?.status(),
  })
  const server = await listen({ ...app, handle: app.handleOperations }, { ...config, port: 0 })
  let isStopped = false
  const stop = async (): Promise<void> => {
    if (isStopped) return
    isStopped = true
    await server.close()
    await scrub?.close()
    await registry.close()
  }
  t.after(stop)
  return { scrub, clock, url: `http://127.0.0.1:${server.port}`, stop }
}

const completePass = ({ clock, scrub }: Fixture): Promise<void> =>
  clock.advanceUntil(10_000, () => scrub?.status().lastCompleteAt !== null)

const metric = async ({ url }: Fixture, name: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^evidence_scrub_${name} (\\S+)$`, 'm').exec(text)?.[1])
}

describe('the scrub of the server', () => {
  it('reports to /metrics and /readyz, and stores its state for the next start', async (t) => {
    const directory = await temporaryFor(t)
    const first = await open(t, directory)
    assert.equal(await metric(first, 'last_complete_timestamp_seconds'), 0)
    await completePass(first)
    assert.ok((await metric(first, 'read_bytes_total')) > 100)
    assert.equal(
      await metric(first, 'last_complete_timestamp_seconds'),
      (first.scrub?.status().lastCompleteAt ?? 0) / 1_000,
    )
    assert.equal(await metric(first, 'differences'), 0)
    assert.deepEqual(await (await fetch(`${first.url}/readyz`)).json(), { status: 'ok', version: VERSION })
    await first.stop()

    const path = join(directory, 'scrub.json')
    const state = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
    assert.equal(state['position'], 'log/0')
    await writeFile(path, JSON.stringify({ ...state, lastPass: { completedAt: 5_000, differences: 3 } }))
    const second = await open(t, directory)
    assert.equal(await metric(second, 'last_complete_timestamp_seconds'), 5)
    assert.equal(await metric(second, 'differences'), 3)
    assert.deepEqual(await (await fetch(`${second.url}/readyz`)).json(), {
      status: 'ok',
      version: VERSION,
      differences: 3,
    })
    await second.stop()

    for (const content of ['', 'null', '{}', JSON.stringify({ ...state, origin: 'another' }), '{"position":[]}']) {
      await writeFile(path, content)
      const third = await open(t, directory)
      assert.equal(third.scrub?.status().lastCompleteAt, null, content)
      await third.stop()
    }
  })

  it('is off with a pace of 0', async (t) => {
    const { scrub } = await open(t, await temporaryFor(t), { EVIDENCE_SCRUB_BYTES_PER_SECOND: '0' })
    assert.equal(scrub, undefined)
  })
})

// Own process: it measures which functions of the process run.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openOrCreateCheckpointKeys, openLocalBlobs, FileSignedHead } from '../../adapters/files/index.ts'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { openLocalLedger } from '../../adapters/local-ledger/index.ts'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import { openRegistry, OPERATOR, type Clock, type Registry } from '../../core/index.ts'
import { parsePolicy, verifyBundle } from '../../core/verify/index.ts'
import { tokens } from '../../core/verify/tokens.ts'
import { createSealer } from '../../sealer/index.ts'
import { createApp } from '../../server/index.ts'
import { makeTemporary } from '../support/temporary.ts'

/**
 * How many of our files one operation runs through: those of which a function runs, by V8's coverage. A reader follows
 * the same way, so it must not grow unseen. Raise a limit only with a reason.
 */
const LIMITS = {
  create: 24,
  update: 26,
  get: 18,
  list: 22,
  seal: 34,
  proof: 26,
  bundle: 32,
  verifyBundle: 22,
  GET: 36,
  'POST with a file': 54,
} as const

const RUNS = 5
const ROOT = new URL('../../', import.meta.url).href
const scope = { companyId: 'acme', principal: OPERATOR }
const newEvidence = (externalId: string) =>
  ({ externalId, name: 'n', owner: 'Ada', category: { name: 'Tools' }, subcategory: { name: 'Drills' } }) as const

/** Time does not wake what sleeps: on a busy machine, work of the background would be part of each measurement. */
const standing: Clock = {
  now: Date.now,
  sleep: (_, signal) =>
    new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
}

const session = new Session()

/** The files that every one of five runs of `work` runs through, so that what a timer adds drops out. */
async function filesOf(work: (run: number) => unknown, prepare?: (run: number) => unknown): Promise<readonly string[]> {
  let files: readonly string[] | undefined
  for (let run = 0; run < RUNS; run++) {
    await prepare?.(run)
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await session.post('Profiler.takePreciseCoverage')
    await work(run)
    const { result } = await session.post('Profiler.takePreciseCoverage')
    await session.post('Profiler.stopPreciseCoverage')
    const ran = result
      .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
      .filter(({ url }) => url.startsWith(ROOT))
      .flatMap(({ url }) => /^(?:core|sealer|adapters|server)\/[^?]*/.exec(url.slice(ROOT.length))?.[0] ?? [])
    files = files?.filter((file) => ran.includes(file)) ?? ran
  }
  return files ?? []
}

function assertDistance(name: keyof typeof LIMITS, files: readonly string[]): void {
  assert.ok(files.length > 10, `too few files to be true: ${files.join(', ')}`)
  assert.ok(
    files.length <= LIMITS[name],
    `${name} runs through ${files.length} files, at most ${LIMITS[name]}: ${files.join(', ')}`,
  )
}

describe('distance', () => {
  let directory: string

  const open = async (name: string, outside: Parameters<typeof createSealer>[0], clock?: Clock): Promise<Registry> =>
    openRegistry({
      records: await openLevelRecords(join(directory, name)),
      blobs: await openLocalBlobs(join(directory, `${name}-blobs`)),
      signedHead: new FileSignedHead(join(directory, `${name}-head.json`)),
      secret: Buffer.alloc(32, 7),
      checkpointSigner: await openOrCreateCheckpointKeys(join(directory, `${name}-keys.json`)),
      sealer: createSealer({ maxWaitMs: 3_600_000, ...outside }),
      ...(clock && { clock }),
    })

  before(async () => {
    session.connect()
    await session.post('Profiler.enable')
    directory = await makeTemporary()
  })

  after(async () => {
    session.disconnect()
  })

  it('of the operations of the core, and of sealing without the stamps and anchors that follow it', async (t) => {
    const plain = await open('plain', {}, standing)
    t.after(() => plain.close())
    const { evidences, proofs } = plain
    const create = (name: string): Promise<unknown> => evidences.create(scope, newEvidence(name))
    await plain.sourceSystems.create(scope, { name: 'w' })
    for (let n = 0; n < 20; n++) await create(`x-${n}`)
    await plain.sealNow()
    assertDistance('create', await filesOf((run) => create(`new-${run}`)))
    assertDistance('update', await filesOf((run) => evidences.update(scope, 'x-0', { owner: `Grace ${run}` })))
    assertDistance('get', await filesOf((run) => evidences.get(scope, `x-${10 + run}`)))
    assertDistance('list', await filesOf(() => evidences.list(scope, { limit: 10 })))
    assertDistance('proof', await filesOf((run) => proofs.evidence({ evidenceId: `x-${10 + run}` })))
    const prepare = (run: number): Promise<unknown> => create(`sealed-${run}`)
    assertDistance('seal', await filesOf(() => plain.sealNow(), prepare))
  })

  it('of a bundle with a token and an anchor, and its verification', async (t) => {
    const outside = {
      timestampAuthority: await openLocalTsa(join(directory, 'tsa')),
      anchor: await openLocalLedger(join(directory, 'ledger')),
    }
    const make = ({ proofs }: Registry) => proofs.bundle(scope, { externalId: 'x-0', fields: 'all', files: 'none' })
    const busy = await open('records', outside)
    await busy.sourceSystems.create(scope, { name: 'w' })
    for (let n = 0; n < 20; n++) await busy.evidences.create(scope, newEvidence(`x-${n}`))
    await busy.sealNow()
    for (let isCovered = false; !isCovered; await delay(50)) {
      const { checkpoints } = await make(busy)
      isCovered = checkpoints.some((one) => one.tokens.length > 0) && checkpoints.some((one) => one.anchors.length > 0)
    }
    const policy = parsePolicy(JSON.stringify(await busy.log.policy()))
    await busy.close()
    const registry = await open('records', {}, standing)
    t.after(() => registry.close())
    const bundle = await make(registry)
    assertDistance('bundle', await filesOf(() => make(registry)))
    const verify = () => verifyBundle(JSON.stringify(bundle), { policy, tokens })
    assert.equal(verify().state, 'proven')
    assertDistance('verifyBundle', await filesOf(verify))
  })

  it('of requests', async () => {
    const served = await open('served', {}, standing)
    const server = createServer(createApp({ registry: served }).handle).listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => server.once('listening', resolve))
      const apiKey = 'key-of-acme-0123456789abcdef'
      await served.sourceSystems.create(scope, { name: 'k', apiKey, permissions: 'A' })
      const { port } = server.address() as AddressInfo
      const call = async (method: string, path: string, body?: FormData): Promise<void> => {
        const url = `http://127.0.0.1:${port}/api/v1/evidences/acme${path}`
        const response = await fetch(url, { method, headers: { 'X-API-Key': apiKey }, ...(body && { body }) })
        await response.arrayBuffer()
        assert.ok(response.ok, `${method} ${path}: ${response.status}`)
      }
      const post = (n: number): Promise<void> => {
        const form = new FormData()
        for (const [name, text] of Object.entries({
          categoryName: 'c',
          subcategoryName: 's',
          externalId: `h-${n}`,
          name: 'n',
        }))
          form.set(name, text)
        form.set('image', new Blob([new Uint8Array(2_000)], { type: 'image/png' }), 'a.png')
        return call('POST', '/evidence', form)
      }
      for (let n = 0; n < 3; n++) await post(n)
      for (let n = 0; n < 3; n++) await call('GET', `/evidence/h-${n}`)
      assertDistance('GET', await filesOf((run) => call('GET', `/evidence/h-${run % 3}`)))
      assertDistance('POST with a file', await filesOf((run) => post(10 + run)))
    } finally {
      server.closeAllConnections()
      server.close()
      await served.close()
    }
  })
})

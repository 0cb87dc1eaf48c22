import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLocalLedger } from '../../adapters/local-ledger/index.ts'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import { systemClock } from '../../core/index.ts'
import { parsePolicy, verifyBundle } from '../../core/verify/index.ts'
import { tokens } from '../../core/verify/tokens.ts'
import { formatFinding, median, roundFigure, type BenchCase, type Row } from '../run/case.ts'
import { inTemporaryFolder } from '../workload/concurrency.ts'
import { evidenceOf } from '../workload/evidence.ts'
import { createCategories, openBenchRegistry, type BenchRegistry } from '../workload/registry.ts'

const ROUNDS = 5
/** Events that are sealed and stamped together. */
const EVENTS_PER_CHECKPOINT = 100

/**
 * Making the proof bundle of a history with everything disclosed, and verifying it offline with pinned keys.
 *
 * Fair because the bundles come from a store on disk, with real timestamps and a ledger, and are verified from their
 * text. A token costs about as much as a hundred events: one checkpoint for each 100 events has a token.
 */
export const bundle: BenchCase = {
  name: 'bundle',
  measures: 'a proof bundle of 1,000 events, made and verified',
  columns: {
    events: 'events',
    checkpoints: 'checkpoints',
    megabytes: 'size, MB',
    makeMs: 'make, ms',
    verifyMs: 'verify, ms',
    withoutTokensMs: 'verify without tokens, ms',
  },
  async run({ quick, progress }) {
    const sizes = quick ? [1, 20] : [1, 100, 1_000]
    return inTemporaryFolder(async (directory) => {
      const bench = await openBenchRegistry({
        timestampAuthority: await openLocalTsa(join(directory, 'tsa'), { clock: systemClock }),
        anchor: await openLocalLedger(join(directory, 'ledger'), { clock: systemClock, blockTimeMs: 50 }),
      })
      try {
        await createCategories(bench)
        const rows: Row[] = []
        for (const [i, size] of sizes.entries()) {
          progress(`${size} events`)
          await createHistory(bench, { index: i, size })
          rows.push(await measure(bench, { index: i, size }, quick ? 1 : ROUNDS))
        }
        const largest = rows.at(-1) ?? {}
        return {
          settings: { store: 'LevelDB', eventsPerCheckpoint: EVENTS_PER_CHECKPOINT, rounds: quick ? 1 : ROUNDS },
          rows,
          findings: { makeMs: Number(largest['makeMs']), verifyMs: Number(largest['verifyMs']) },
        }
      } finally {
        await bench.close()
      }
    })
  },
  conclude: (result) =>
    `A bundle of 1,000 events is made in ${formatFinding(result, 'makeMs')} ms and verified in ` +
    `${formatFinding(result, 'verifyMs')} ms.`,
}

interface History {
  readonly index: number
  /** In events. */
  readonly size: number
}

async function createHistory(bench: BenchRegistry, { index, size }: History): Promise<void> {
  const { registry, scope } = bench
  const { externalId } = evidenceOf(index)
  await registry.evidences.create(scope, {
    ...evidenceOf(index),
    category: { name: 'Category 0' },
    subcategory: { name: 'All' },
  })
  for (let version = 2; version <= size; version++) {
    await registry.evidences.update(scope, externalId, { description: `Version ${version}`, meta: { version } })
    if (version % EVENTS_PER_CHECKPOINT === 0) await settle(bench)
  }
  await settle(bench)
}

/** Seals what was written, and waits until it is stamped and anchored. */
async function settle({ registry }: BenchRegistry): Promise<void> {
  await registry.sealNow()
  const isSettled = (): boolean => {
    const { sealedSize, stampedSize, anchoredSize } = registry.status()
    return stampedSize === sealedSize && anchoredSize === sealedSize
  }
  while (!isSettled()) await sleep(20)
}

async function measure({ registry, scope }: BenchRegistry, history: History, rounds: number): Promise<Row> {
  const policy = parsePolicy(JSON.stringify(await registry.log.policy()))
  const { externalId } = evidenceOf(history.index)
  const makeMs: number[] = []
  const verifyMs: number[] = []
  const withoutTokensMs: number[] = []
  let text = ''
  for (let round = 0; round < rounds; round++) {
    makeMs.push(
      await timed(async () => {
        text = JSON.stringify(await registry.proofs.bundle(scope, { externalId, fields: 'all', files: 'all' }))
      }),
    )
    verifyMs.push(await timed(() => assertProven(verifyBundle(text, { policy, tokens }))))
    withoutTokensMs.push(await timed(() => assertProven(verifyBundle(text, { policy }))))
  }
  return {
    events: history.size,
    checkpoints: (JSON.parse(text) as { readonly checkpoints: readonly unknown[] }).checkpoints.length,
    megabytes: roundFigure(text.length / 1e6),
    makeMs: roundFigure(median(makeMs)),
    verifyMs: roundFigure(median(verifyMs)),
    withoutTokensMs: roundFigure(median(withoutTokensMs)),
  }
}

async function timed(run: () => unknown): Promise<number> {
  const startMs = performance.now()
  await run()
  return performance.now() - startMs
}

function assertProven(result: ReturnType<typeof verifyBundle>): void {
  if (result.state !== 'proven') throw new Error(`The bundle is ${result.state}`)
}

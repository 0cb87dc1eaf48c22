import { TREE_BUILDERS } from '../peers/npm-trees.ts'
import { median, roundFigure, type BenchContext, type BenchResult } from '../run/case.ts'
import type { Row } from '../run/row.ts'
import { runChild } from '../run/child.ts'
import type { TreeMeasurement } from '../workload/tree-measurement.ts'

const SIZES = [2 ** 10, 2 ** 14, 2 ** 17, 2 ** 20] as const
const QUICK_SIZES = [2 ** 10, 2 ** 14] as const
const ROUNDS = 3
/** An implementation that exceeds this for a tree with its proofs is left out of larger sizes. */
const LIMIT_MS = 120_000

/** The columns of a tree's row. */
export const TREE_COLUMNS = {
  leaves: 'leaves',
  implementation: 'implementation',
  treeMs: 'tree, ms',
  leavesPerSecond: 'leaves/s',
  allProofsMs: 'all proofs, ms',
  proofsPerSecond: 'proofs/s',
  peakMiB: 'peak, MiB',
}

/**
 * Measures a Merkle tree and all of its inclusion proofs in memory: this library, trees written by hand over
 * node:crypto, and packages from npm.
 *
 * Fair because every implementation gets the same entries in a process of its own, warmed up for 0.3 s, in turns. The
 * roots must be equal, every proof must have log2(n) hashes, and one byte of each hash is read.
 */
export async function measureTrees(context: BenchContext): Promise<Pick<BenchResult, 'rows' | 'findings'>> {
  const { quick } = context
  const rounds = quick ? 1 : ROUNDS
  const tooSlow = new Set<string>()
  const rows: Row[] = []
  let medians: Medians = new Map()
  for (const size of quick ? QUICK_SIZES : SIZES) {
    const runs = await measureSize({ size, rounds, tooSlow, context })
    assertEqualTrees(runs, size)
    medians = new Map(
      [...runs].flatMap(([key, measured]) => (measured.length === 0 ? [] : [[key, medianOf(measured)]])),
    )
    rows.push(...Object.keys(TREE_BUILDERS).map((key) => rowOf(key, size, medians.get(key))))
  }
  return { rows, findings: findingsOf(medians) }
}

type Medians = ReadonlyMap<string, TreeMeasurement>

interface SizeRequest {
  readonly size: number
  readonly rounds: number
  /** Implementations to leave out. Extended by those that exceed the limit. */
  readonly tooSlow: Set<string>
  readonly context: BenchContext
}

async function measureSize({ size, rounds, tooSlow, context }: SizeRequest) {
  const runs = new Map<string, TreeMeasurement[]>(Object.keys(TREE_BUILDERS).map((key) => [key, []]))
  for (let round = 0; round < rounds; round++)
    for (const [key, measured] of runs) {
      // A slow implementation is measured once.
      if (tooSlow.has(key) || measured.some(isSlow)) continue
      const measurement = await runOne(key, size)
      if (measurement === undefined) tooSlow.add(key)
      else measured.push(measurement)
      const note = measurement === undefined ? ': over the limit' : ''
      context.progress(`2^${Math.log2(size)} leaves, round ${round + 1} of ${rounds}: ${key}${note}`)
    }
  return runs
}

const isSlow = ({ treeMs, proofsMs }: TreeMeasurement): boolean => treeMs + proofsMs > LIMIT_MS / 8

/** Returns `undefined` if it exceeded the time limit or ran out of memory. */
const runOne = (key: string, size: number): Promise<TreeMeasurement | undefined> =>
  runChild<TreeMeasurement>('./programs/tree.ts', [key, String(size)], LIMIT_MS).catch(() => undefined)

function medianOf(runs: readonly TreeMeasurement[]): TreeMeasurement {
  const of = (get: (run: TreeMeasurement) => number): number => median(runs.map(get))
  const [first] = runs
  if (first === undefined) throw new RangeError('the median of no runs is not defined')
  return {
    ...first,
    treeMs: of(({ treeMs }) => treeMs),
    proofsMs: of(({ proofsMs }) => proofsMs),
    peakMiB: of(({ peakMiB }) => peakMiB),
  }
}

/** Throws if two implementations of the tree of RFC 6962 differ in the root, or a proof has not log2(n) hashes. */
function assertEqualTrees(runs: ReadonlyMap<string, readonly TreeMeasurement[]>, size: number): void {
  const roots = new Set<string>()
  for (const [key, measured] of runs)
    for (const { root, proofHashes } of measured) {
      if (TREE_BUILDERS[key]?.().difference === undefined) roots.add(root)
      if (proofHashes !== size * Math.log2(size)) throw new Error(`${key}: its proofs have ${proofHashes} hashes`)
    }
  if (roots.size > 1) throw new Error(`the implementations built ${roots.size} different roots`)
}

function rowOf(key: string, size: number, measured: TreeMeasurement | undefined): Row {
  const { name = key, difference = '' } = TREE_BUILDERS[key]?.() ?? {}
  const row = { leaves: size, implementation: name }
  if (measured === undefined) return { ...row, note: `not measured: over ${LIMIT_MS / 1000} s, or out of memory` }
  return {
    ...row,
    treeMs: roundFigure(measured.treeMs),
    leavesPerSecond: roundFigure((size / measured.treeMs) * 1000),
    allProofsMs: roundFigure(measured.proofsMs),
    proofsPerSecond: roundFigure((size / measured.proofsMs) * 1000),
    peakMiB: roundFigure(measured.peakMiB),
    note: difference,
  }
}

function findingsOf(medians: Medians): Record<string, number> {
  const [inline, pooled, byHand, peer] = ['libraryInline', 'libraryPooled', 'createHashByHand', 'merkletreejs'].map(
    (key) => medians.get(key),
  )
  return {
    ...(inline && byHand && { oneThreadOverCreateHash: roundFigure(byHand.treeMs / inline.treeMs) }),
    ...(inline && peer && { oneThreadOverMerkletreejs: roundFigure(peer.treeMs / inline.treeMs) }),
    ...(inline && pooled && { fourWorkersOverOneThread: roundFigure(inline.treeMs / pooled.treeMs) }),
    ...(inline && peer && { bulkProofsOverMerkletreejs: roundFigure(peer.proofsMs / inline.proofsMs) }),
  }
}

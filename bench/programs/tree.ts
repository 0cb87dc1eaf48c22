import { createHash } from 'node:crypto'
import { median } from '../run/case.ts'
import { oursInline, oursPooled } from '../workload/our-tree.ts'
import {
  fixed,
  merkletreejs,
  merkleTreeStream,
  openZeppelin,
  persistent,
  withCreateHash,
  withOneShot,
} from '../peers/npm-trees.ts'
import { HASH, Taken, type Contestant } from '../workload/tree-builder.ts'

/** One contestant at one size in a process of its own, so that its memory can be told; writes what it measured to stdout. */

export interface Measured {
  readonly treeMs: number
  readonly proofsMs: number
  /** Highest resident size from the entries on, above what the process had with them. */
  readonly peakMiB: number
  readonly root: string
  readonly hashes: number
  /** Of what the proofs' hashes begin with. */
  readonly sum: number
}

export const CONTESTANTS: Readonly<Record<string, () => Contestant>> = {
  oursInline,
  oursPooled: () => oursPooled(4),
  withCreateHash,
  withOneShot,
  merkletreejs,
  persistent,
  fixed,
  merkleTreeStream,
  openZeppelin,
}

const MIB = 2 ** 20
const peakBytes = (): number => process.resourceUsage().maxRSS * 1024

/** SHA-256 of 0, 1, 2, …: the same entries for all. */
export function makeEntries(count: number): Uint8Array {
  const entries = new Uint8Array(count * HASH)
  for (let i = 0; i < count; i++) entries.set(createHash('sha256').update(String(i)).digest(), i * HASH)
  return entries
}

/** Small trees are done so often, and the median told, since a single one is over before it is compiled. */
const timesFor = (count: number): number => (count <= 2 ** 14 ? 15 : 1)

/** For so long at least: what works on many leaves at a time is called less often, and so compiled later. */
const WARM_UP_MS = 300

async function measure(contestant: Contestant, count: number): Promise<Measured> {
  // Compiled and started first: a worker's start and a module's compiling are `scaling`'s to show.
  const few = makeEntries(Math.min(count, 2 ** 14))
  const begun = performance.now()
  do await once(contestant, few)
  while (performance.now() - begun < WARM_UP_MS)
  const entries = makeEntries(count)
  const before = process.memoryUsage().rss
  const runs: Awaited<ReturnType<typeof once>>[] = []
  for (let i = 0; i < timesFor(count); i++) runs.push(await once(contestant, entries))
  const [first] = runs
  return {
    ...(first as (typeof runs)[number]),
    treeMs: median(runs.map(({ treeMs }) => treeMs)),
    proofsMs: median(runs.map(({ proofsMs }) => proofsMs)),
    peakMiB: Math.max(0, peakBytes() - before) / MIB,
  }
}

async function once(contestant: Contestant, entries: Uint8Array) {
  const begun = performance.now()
  const tree = await contestant.build(entries)
  const treeMs = performance.now() - begun
  await tree.prepare?.()
  const prepared = performance.now()
  const taken = new Taken()
  await tree.proofs(taken)
  return { treeMs, proofsMs: performance.now() - prepared, root: tree.root, hashes: taken.count, sum: taken.sum }
}

const [name, count] = process.argv.slice(2)
const make = CONTESTANTS[name ?? '']
if (make !== undefined) {
  const contestant = make()
  console.log(JSON.stringify(await measure(contestant, Number(count))))
  await contestant.close?.()
}

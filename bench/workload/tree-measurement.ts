import { createHash } from 'node:crypto'
import { median } from '../run/case.ts'
import { HASH_BYTES, ProofReader, type TreeBuilder } from './tree-builder.ts'

export interface TreeMeasurement {
  readonly treeMs: number
  readonly proofsMs: number
  /** The highest resident size, above that of the process with only the entries. */
  readonly peakMiB: number
  readonly root: string
  /** Hashes in all proofs together. */
  readonly proofHashes: number
  /** Of the first byte of each hash in the proofs. */
  readonly sum: number
}

const MIB = 2 ** 20
const peakBytes = (): number => process.resourceUsage().maxRSS * 1024

/** Returns SHA-256 of 0, 1, 2, …: the same entries for all implementations. */
export function makeEntries(count: number): Uint8Array {
  const entries = new Uint8Array(count * HASH_BYTES)
  for (let i = 0; i < count; i++) entries.set(createHash('sha256').update(String(i)).digest(), i * HASH_BYTES)
  return entries
}

/** A single small tree would be over before its code is compiled, so small ones are repeated and the median counts. */
const repetitionsFor = (count: number): number => (count <= 2 ** 14 ? 15 : 1)

/** Code that handles many leaves in one call is called less often, and so compiled later. */
const WARM_UP_MS = 300

/** Builds small trees until the code is compiled and the workers run. `scaling` measures those starts. */
export async function warmUp(builder: TreeBuilder, count: number): Promise<void> {
  const entries = makeEntries(Math.min(count, 2 ** 14))
  const begin = performance.now()
  do await measureOnce(builder, entries)
  while (performance.now() - begin < WARM_UP_MS)
}

/** Measures an implementation in this process, which should do nothing else, because its memory is measured too. */
export async function measureTree(builder: TreeBuilder, count: number): Promise<TreeMeasurement> {
  await warmUp(builder, count)
  const entries = makeEntries(count)
  const before = process.memoryUsage().rss
  const first = await measureOnce(builder, entries)
  const runs = [first]
  while (runs.length < repetitionsFor(count)) runs.push(await measureOnce(builder, entries))
  return {
    ...first,
    treeMs: median(runs.map(({ treeMs }) => treeMs)),
    proofsMs: median(runs.map(({ proofsMs }) => proofsMs)),
    peakMiB: Math.max(0, peakBytes() - before) / MIB,
  }
}

async function measureOnce(builder: TreeBuilder, entries: Uint8Array) {
  const begin = performance.now()
  const tree = await builder.build(entries)
  const treeMs = performance.now() - begin
  await tree.prepareProofs?.()
  const prepared = performance.now()
  const reader = new ProofReader()
  await tree.makeProofs(reader)
  const proofsMs = performance.now() - prepared
  return { treeMs, proofsMs, root: tree.root, proofHashes: reader.hashCount, sum: reader.sum }
}

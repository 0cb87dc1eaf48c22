import { median, shown, type Bench, type Row } from '../run/case.ts'
import { runChild } from '../run/child.ts'
import { CONTESTANTS, type Measured } from '../programs/tree.ts'

const SIZES = [2 ** 10, 2 ** 14, 2 ** 17, 2 ** 20]
const QUICK_SIZES = [2 ** 10, 2 ** 14]
const ROUNDS = 3
/** One that takes longer for a tree and its proofs is left out of larger sizes. */
const LIMIT_MS = 120_000

/** Ours against what npm has, in one run, each time in a process of its own: a tree, all of its proofs, and the memory for both. */
export const engine: Bench = {
  name: 'engine',
  about: 'a tree and all its proofs: ours, by hand, and what npm has; each in a process of its own',
  async run({ quick, progress }) {
    const rows: Row[] = []
    const medians = new Map<string, Measured>()
    const over = new Set<string>()
    for (const size of quick ? QUICK_SIZES : SIZES) {
      const runs = new Map<string, Measured[]>()
      for (let round = 0; round < (quick ? 1 : ROUNDS); round++)
        for (const key of Object.keys(CONTESTANTS)) {
          // A slow one is measured once.
          if (over.has(key) || (round > 0 && tookLong(runs.get(key)?.[0]))) continue
          const measured = await runOne(key, size)
          if (measured === undefined) over.add(key)
          else runs.set(key, [...(runs.get(key) ?? []), measured])
          progress(`2^${Math.log2(size)} leaves, ${key}${measured === undefined ? ': over the limit' : ''}`)
        }
      assertSame(runs, size)
      for (const [key, make] of Object.entries(CONTESTANTS)) {
        const { name, otherwise = '' } = make()
        const measured = middle(runs.get(key) ?? [])
        if (measured === undefined) {
          rows.push({
            leaves: size,
            contestant: name,
            note: `not measured: took over ${LIMIT_MS / 1000} s, or the memory`,
          })
          continue
        }
        medians.set(`${key} ${size}`, measured)
        rows.push({
          leaves: size,
          contestant: name,
          treeMs: shown(measured.treeMs),
          leavesPerSecond: shown((size / measured.treeMs) * 1000),
          allProofsMs: shown(measured.proofsMs),
          proofsPerSecond: shown((size / measured.proofsMs) * 1000),
          peakMiB: shown(measured.peakMiB),
          note: otherwise,
        })
      }
    }
    const settings = { rounds: quick ? 1 : ROUNDS, limitSeconds: LIMIT_MS / 1000, entries: 'SHA-256 of 0, 1, 2, …' }
    return { settings, rows, findings: findings(medians, (quick ? QUICK_SIZES : SIZES).at(-1) as number) }
  },
}

const tookLong = (measured: Measured | undefined): boolean =>
  measured !== undefined && measured.treeMs + measured.proofsMs > LIMIT_MS / 8

/** `undefined` where it did not end in time, or ran out of memory. */
const runOne = (key: string, size: number): Promise<Measured | undefined> =>
  runChild<Measured>('./programs/tree.ts', [key, String(size)], LIMIT_MS).catch(() => undefined)

function middle(runs: readonly Measured[]): Measured | undefined {
  const [first] = runs
  return (
    first && {
      ...first,
      treeMs: median(runs.map(({ treeMs }) => treeMs)),
      proofsMs: median(runs.map(({ proofsMs }) => proofsMs)),
      peakMiB: median(runs.map(({ peakMiB }) => peakMiB)),
    }
  )
}

/** Whoever builds the tree of RFC 6962 comes to the same root, and everyone to log2(n) hashes a proof. */
function assertSame(runs: ReadonlyMap<string, readonly Measured[]>, size: number): void {
  const roots = new Set<string>()
  for (const [key, measured] of runs)
    for (const { root, hashes } of measured) {
      if (CONTESTANTS[key]?.().otherwise === undefined) roots.add(root)
      if (hashes !== size * Math.log2(size)) throw new Error(`${key}: its proofs have ${hashes} hashes`)
    }
  if (roots.size > 1) throw new Error(`The contestants came to ${roots.size} roots`)
}

function findings(medians: ReadonlyMap<string, Measured>, size: number): Record<string, number> {
  const of = (key: string): Measured | undefined => medians.get(`${key} ${size}`)
  const [inline, pooled, byHand, peer] = ['oursInline', 'oursPooled', 'withCreateHash', 'merkletreejs'].map(of)
  return {
    leaves: size,
    ...(inline && byHand && { oneThreadOverCreateHash: shown(byHand.treeMs / inline.treeMs) }),
    ...(inline && peer && { oneThreadOverMerkletreejs: shown(peer.treeMs / inline.treeMs) }),
    ...(inline && pooled && { fourWorkersOverOneThread: shown(inline.treeMs / pooled.treeMs) }),
    ...(inline && peer && { bulkProofsOverMerkletreejs: shown(peer.proofsMs / inline.proofsMs) }),
  }
}

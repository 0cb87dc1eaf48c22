import type { BundleInclusion } from '../../schemas/bundle.ts'
import { toHex } from '../../bytes.ts'
import { MAX_CHECKPOINT_TOKENS } from '../../commitment/bundle-format.ts'
import { corrupt } from '../../errors.ts'
import { distinctTokens } from '../../log/attestation-rules.ts'
import { parseCheckpoint } from '../../log/checkpoint.ts'
import type { AnchorRecord, StampRecord, StampToken } from '../../log/records.ts'
import type { SealedTree } from '../../log/sealed-tree.ts'
import { leafHash } from '../../log/tree/hash.ts'
import { storedBytes } from '../../store/codec.ts'

/** A tree under which a bundle proves events, and what it shows of its stamp and of its anchor. */
export interface VouchedTree {
  readonly size: number
  /** The signed checkpoint. */
  readonly note: string
  readonly root: Uint8Array
  readonly stamp?: StampRecord
  readonly anchor?: AnchorRecord
}

/** The tree of a signed checkpoint. Throws `CORRUPT` if that is damaged. */
export function treeOf(size: number, note: string): VouchedTree {
  try {
    return { size, note, root: parseCheckpoint(note).root }
  } catch (cause) {
    throw corrupt('A stored checkpoint is damaged', cause)
  }
}

/** The tree of a stamp, which a bundle shows. */
export const stampedTree = (stamp: StampRecord): VouchedTree => ({ ...treeOf(stamp.size, stamp.checkpoint), stamp })

/** These trees by their sizes, ascending. Each once, with all that is shown of it. */
export function merged(trees: readonly VouchedTree[]): readonly VouchedTree[] {
  const bySize = new Map<number, VouchedTree>()
  for (const tree of trees) bySize.set(tree.size, { ...bySize.get(tree.size), ...tree })
  return [...bySize.values()].toSorted((a, b) => a.size - b.size)
}

/** What a verifier spends on a tree. */
export const unitsOf = ({ stamp, anchor }: VouchedTree): number =>
  checkpointUnits({ tokens: tokensOf(stamp).map(({ token }) => token), anchors: anchor === undefined ? [] : [anchor] })

/** What a verifier spends on a checkpoint (`core/SPECIFICATION.md`). A token has 850 characters or more for a unit. */
export const checkpointUnits = ({ tokens, anchors, cosignatures = [] }: CountedCheckpoint): number =>
  1 +
  8 * anchors.length +
  tokens.reduce((sum, token) => sum + 5 + token.length / 850, 0) +
  cosignatures.reduce((sum, line) => sum + (line.length > LONGEST_ED25519 ? 2 : 1), 0)

/** A signature line with more characters is one of ML-DSA-44. */
const LONGEST_ED25519 = 1_000

interface CountedCheckpoint {
  readonly tokens: readonly string[]
  readonly anchors: readonly unknown[]
  readonly cosignatures?: readonly string[]
}

/** An entry of the log. */
export interface PlacedEntry {
  /** Hex. */
  readonly entry: string
  readonly position: number
}

/** Proves an entry under these trees. Throws `CORRUPT` if tiles are damaged. */
export const inclusionsOf = (
  proofs: Pick<SealedTree, 'proveInclusion'>,
  { entry, position }: PlacedEntry,
  trees: readonly VouchedTree[],
): Promise<BundleInclusion[]> => {
  const leaf = leafHash(storedBytes(entry, 'A log entry'))
  return Promise.all(
    trees.map(async ({ size: treeSize, root }) => {
      const path = await proofs.proveInclusion({ leafHash: leaf, leafIndex: position, treeSize, root })
      return { treeSize, path: path.map(toHex) }
    }),
  )
}

/** The tokens of a stamp that a bundle shows. */
export const tokensOf = (stamp: StampRecord | undefined): readonly StampToken[] =>
  distinctTokens(stamp?.tokens ?? []).slice(0, MAX_CHECKPOINT_TOKENS)

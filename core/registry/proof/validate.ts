import { fromHex, toHex } from '../../bytes.ts'
import type { LogReader } from '../../log/reader.ts'
import { MerkleValidationRequest } from '../schemas.ts'
import { type MerkleValidation } from './schemas.ts'
import { leafHash } from '../../log/tree/hasher.ts'
import { rootFromInclusionProof, rootFromSides, sidesOf } from '../../log/tree/proof.ts'
import { validate } from '../validation.ts'

const bytesOf = (hash: string): Uint8Array => fromHex(hash) as Uint8Array

/** Whether a caller's own hashes lead from a txId to a root, and whether this log knows the two. Throws `VALIDATION_ERROR`. */
export async function validatePath(log: LogReader, request: MerkleValidationRequest): Promise<MerkleValidation> {
  const { txId, merkleRoot, proof } = validate(MerkleValidationRequest, request)
  const [[place], rootSize] = await Promise.all([log.entryStatuses([bytesOf(txId)]), log.sizeOfRoot(merkleRoot)])
  // A root that was sealed before the txId came cannot hold it: the path is then that of its own batch.
  const treeSize =
    place !== undefined && rootSize !== undefined && place.position < rootSize ? rootSize : place?.batch?.end
  const computed = computeRoot({ txId, proof, leafIndex: place?.position, treeSize })
  const known = {
    expectedRoot: merkleRoot,
    txIdKnown: place !== undefined,
    rootKnown: rootSize !== undefined,
    ...(place?.sendStatus && { sendStatus: place.sendStatus }),
  }
  const computedRoot = computed && toHex(computed.root)
  const valid = proof.length > 0 && computed?.sidesHold === true && computedRoot === merkleRoot
  const base = { valid, ...(computedRoot !== undefined && { computedRoot }), ...known }
  if (place === undefined && computed === undefined)
    return {
      status: 'not_found',
      ...base,
      error: 'This log does not hold the txId; without positions nothing can be computed',
      code: 'NOT_FOUND',
    }
  if (rootSize === undefined)
    return { status: 'unknown_root', ...base, error: 'This log never sealed that root', code: 'UNKNOWN_ROOT' }
  if (computed === undefined && place?.batch === null)
    return {
      status: 'pending',
      ...base,
      error: 'This txId is not in a batch yet; without positions nothing can be computed',
      code: 'PENDING',
    }
  if (valid) return { status: 'ok', ...base }
  return { status: 'ok', ...base, error: whyNot(proof, computed), code: 'VERIFICATION_FAILED' }
}

interface Path {
  readonly txId: string
  readonly proof: MerkleValidationRequest['proof']
  readonly leafIndex: number | undefined
  readonly treeSize: number | undefined
}

interface Computed {
  readonly root: Uint8Array
  /** Where positions were sent for a known txId: they are those of its leaf index. */
  readonly sidesHold: boolean
}

/**
 * The root to which the caller's own hashes lead: by the positions they carry, or by the leaf's known place. Sides are
 * never guessed by trying. `undefined` where there is no way to tell them.
 */
function computeRoot({ txId, proof, leafIndex, treeSize }: Path): Computed | undefined {
  const leaf = leafHash(bytesOf(txId))
  const placed = leafIndex !== undefined && treeSize !== undefined && leafIndex < treeSize
  const sides = proof.map(({ position }) => position)
  if (proof.length > 0 && sides.every((side) => side !== undefined)) {
    const root = rootFromSides(
      leaf,
      proof.map(({ hash }, i) => ({ hash: bytesOf(hash), side: sides[i] as 'left' | 'right' })),
    )
    return { root, sidesHold: !placed || sidesOf(leafIndex, treeSize).join() === sides.join() }
  }
  if (!placed) return undefined
  const siblings = proof.map(({ hash }) => bytesOf(hash))
  const root = rootFromInclusionProof({ leafHash: leaf, leafIndex, treeSize, proof: siblings })
  if (root === undefined) return undefined
  const expected = sidesOf(leafIndex, treeSize)
  return { root, sidesHold: sides.every((side, i) => side === undefined || side === expected[i]) }
}

function whyNot(proof: MerkleValidationRequest['proof'], computed: Computed | undefined): string {
  if (proof.length === 0) return 'An empty proof proves nothing'
  if (computed === undefined) return 'The proof does not have the length of a path of this txId in this tree'
  return computed.sidesHold
    ? 'The path leads to another root'
    : 'The positions are not those of the leaf index of this txId'
}

/**
 * `evidence-registry/log`: the Merkle log by itself, for other applications. It contains the tree of RFC 9162 with
 * inclusion and consistency proofs, the tiles of C2SP tlog-tiles, and C2SP signed notes and checkpoints. It needs only
 * `node:crypto`.
 *
 * The log keeps a tree of entries and publishes signed checkpoints. A verifier who knows the log's verifier key checks
 * that an entry is in the log, and that a later checkpoint only added entries:
 *
 * ```ts
 * import { randomBytes } from 'node:crypto'
 * import {
 *   checkpointText,
 *   createNoteSigner,
 *   leafHash,
 *   MerkleTree,
 *   verifyCheckpoint,
 *   verifyConsistency,
 *   verifyInclusion,
 * } from 'evidence-registry/log'
 *
 * // The log: a tree of entries, and a key that signs its checkpoints.
 * const origin = 'example.org/log'
 * const signer = createNoteSigner(origin, randomBytes(32))
 * const tree = new MerkleTree()
 * const publish = () => signer.signNote(checkpointText({ origin, size: tree.size, root: tree.root() }))
 *
 * const entry = new TextEncoder().encode('an entry')
 * tree.add(new TextEncoder().encode('the first entry'))
 * const leafIndex = tree.add(entry)
 * const inclusionProof = tree.inclusionProof(leafIndex)
 * const checkpoint = publish()
 *
 * tree.add(new TextEncoder().encode('a later entry'))
 * const consistencyProof = tree.consistencyProof(2)
 * const laterCheckpoint = publish()
 *
 * // The verifier: knows `signer.verifierKey`, and received everything else from the log. What does not hold throws.
 * const old = verifyCheckpoint(checkpoint, signer.verifierKey)
 * verifyInclusion({
 *   leafHash: leafHash(entry),
 *   leafIndex,
 *   treeSize: old.size,
 *   root: old.root,
 *   proof: inclusionProof,
 * })
 * const later = verifyCheckpoint(laterCheckpoint, signer.verifierKey)
 * verifyConsistency({
 *   fromSize: old.size,
 *   fromRoot: old.root,
 *   toSize: later.size,
 *   toRoot: later.root,
 *   proof: consistencyProof,
 * })
 * ```
 *
 * For a tree that is stored elsewhere (in tiles, in a database), use `inclusionProof`, `consistencyProof` and
 * `rootFromNodes` with a `NodeSource` that returns stored nodes. `inclusionRanges`, `consistencyRanges` and
 * `nodesOfRange` tell which nodes to read, `tileOfNode` and `nodeAt` where they are in tiles.
 *
 * @module
 */
export { isRegistryError, RegistryError, type ErrorCode } from '../errors.ts'
export {
  checkpointText,
  createNoteSigner,
  formatVerifierKey,
  MAX_NOTE_LENGTH,
  openNote,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  publicKeyOfSeed,
  verifyCheckpoint,
  verifySignature,
  type Checkpoint,
  type NoteSignature,
  type NoteSigner,
  type SignedNote,
  type VerifierKey,
} from './note.ts'
export { TreeAccumulator } from './tree/accumulator.ts'
export {
  emptyRoot,
  HASH_BYTES,
  leafHash,
  nodeHash,
  nodesOfRange,
  rangeHash,
  type LeafRange,
  type NodeId,
  type NodeSource,
} from './tree/hash.ts'
export { MerkleTree } from './tree/merkle-tree.ts'
export * from './tree/proof.ts'
export {
  buildTile,
  FULL_TILE_BYTES,
  nodeAt,
  rowPrefix,
  splitTiles,
  TILE_HEIGHT,
  TILE_WIDTH,
  tileBytesFor,
  tileLevelsOf,
  tileOfNode,
  tilesBytesFor,
  widthOf,
  type TilePosition,
} from './tree/tile.ts'

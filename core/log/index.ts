/**
 * `evidence-registry/log`: the Merkle log by itself, for other applications. It contains the proofs of RFC 9162, the
 * places of nodes in tiles of C2SP tlog-tiles, and C2SP signed notes and checkpoints. It needs only `node:crypto`.
 *
 * The log keeps a tree of entries and publishes signed checkpoints. A verifier who knows the log's verifier key checks
 * that an entry is in the log, and that a later checkpoint only added entries:
 *
 * ```ts
 * import { randomBytes } from 'node:crypto'
 * import {
 *   checkpointText,
 *   consistencyProof,
 *   createNoteSigner,
 *   inclusionProof,
 *   leafHash,
 *   nodeHash,
 *   rootFromNodes,
 *   verifyCheckpoint,
 *   verifyConsistency,
 *   verifyInclusion,
 * } from 'evidence-registry/log'
 *
 * // The log: entries, the complete nodes over them, which a large log stores, and a key that signs its checkpoints.
 * const entries = ['the first entry', 'an entry', 'a later entry'].map((text) => new TextEncoder().encode(text))
 * const node = ({ level, index }) =>
 *   level === 0
 *     ? leafHash(entries[index])
 *     : nodeHash(node({ level: level - 1, index: 2 * index }), node({ level: level - 1, index: 2 * index + 1 }))
 * const origin = 'example.org/log'
 * const signer = createNoteSigner(origin, randomBytes(32))
 * const publish = (size) => signer.signNote(checkpointText({ origin, size, root: rootFromNodes(size, node) }))
 *
 * // The verifier: knows `signer.verifierKey`, and received everything else from the log. What does not hold throws.
 * const [leafIndex, entry] = [1, entries[1]]
 * const old = verifyCheckpoint(publish(2), signer.verifierKey)
 * verifyInclusion({
 *   leafHash: leafHash(entry),
 *   leafIndex,
 *   treeSize: old.size,
 *   root: old.root,
 *   proof: inclusionProof(leafIndex, old.size, node),
 * })
 * const later = verifyCheckpoint(publish(3), signer.verifierKey)
 * verifyConsistency({
 *   fromSize: old.size,
 *   fromRoot: old.root,
 *   toSize: later.size,
 *   toRoot: later.root,
 *   proof: consistencyProof(old.size, later.size, node),
 * })
 * ```
 *
 * If reading a node takes a request, first read what a proof needs: `inclusionRanges`, `consistencyRanges` and
 * `nodesOfRange` name the nodes, `tileOfNode` their places in tiles. `TreeAccumulator` computes the root of a log that
 * is read once. `verifyLog` of `evidence-registry/verify` checks all openings of a registry's log.
 *
 * @module
 */
export { isRegistryError, RegistryError, type ErrorCode } from '../errors.ts'
export { checkpointText, parseCheckpoint, verifyCheckpoint, type Checkpoint } from './checkpoint.ts'
export { createNoteSigner, openNote, type NoteSignature, type NoteSigner, type SignedNote } from './note.ts'
export { formatTlogProof, parseTlogProof, type TlogProof } from './tlog-proof.ts'
export { TreeAccumulator } from './tree/accumulator.ts'
export { leafHash, nodeHash, nodesOfRange, type LeafRange, type NodeId, type NodeSource } from './tree/hash.ts'
export {
  consistencyProof,
  consistencyRanges,
  inclusionProof,
  inclusionRanges,
  rootFromNodes,
  verifyConsistency,
  verifyInclusion,
  type ConsistencyProof,
  type InclusionProof,
  type RootMismatch,
} from './tree/proof.ts'
export { TILE_WIDTH, tileOfNode, type TilePosition } from './tree/tile.ts'

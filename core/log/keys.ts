import type { Key, Range } from '../ports/index.ts'
import { keysFrom, keysUnder, onlyKey, recordKey } from '../store/key.ts'

/** Keys of the records that the log keeps beside its entries. The records are in `core/log/records.ts`. */
export const logKeys = {
  identity: (): Key => 'lg',
  /** The tree's head: size and root. A batch's commit checks it. */
  treeHead: (): Key => 'th',
  /** Which of several sealers is active. */
  sealerLease: (): Key => 'sl',
  tile: (level: number, index: number): Key => recordKey('ti', level, index),
  tiles: (): Range => keysUnder('ti'),
  /**
   * Batches are keyed by the tree size at their end. The first one at or after `position + 1` contains the position.
   */
  batch: (treeSize: number): Key => recordKey('ba', treeSize),
  batchesFrom: (treeSize: number): Range => keysFrom('ba', treeSize),
  /** Batches that end before this tree size. */
  batchesBefore: (treeSize: number): Range => ({ gte: keysUnder('ba').gte, lt: recordKey('ba', treeSize) }),
  batchById: (id: string): Key => recordKey('bx', id),
  batchIds: (): Range => keysUnder('bx'),
  /** The batch that ended with this root. Holds the same as `batchById`. */
  batchByRoot: (root: string): Key => recordKey('br', root),
  batchRoots: (): Range => keysUnder('br'),
  checkpoint: (treeSize: number): Key => recordKey('cp', treeSize),
  checkpoints: (): Range => keysUnder('cp'),
  /** Stamps by the size of the checkpoint that was stamped. */
  stamp: (treeSize: number): Key => recordKey('st', treeSize),
  stampsFrom: (treeSize: number): Range => keysFrom('st', treeSize),
  /** Stamps that have no quorum yet, or never reached one. */
  partialStamp: (treeSize: number): Key => recordKey('sp', treeSize),
  partialStamps: (): Range => keysUnder('sp'),
  /** The stamp that was stored last. */
  stampHead: (): Key => 'sh',
  /** The DER of validation data, by its SHA-256 in hex. Many tokens share it. */
  validationData: (hash: string): Key => recordKey('te', hash),
  allValidationData: (): Range => keysUnder('te'),
  anchor: (treeSize: number): Key => recordKey('an', treeSize),
  anchorsFrom: (treeSize: number): Range => keysFrom('an', treeSize),
  /** Confirmed anchors, except those that a larger anchor in the same or a lower block makes unnecessary. */
  confirmedAnchor: (treeSize: number): Key => recordKey('ac', treeSize),
  confirmedAnchorsFrom: (treeSize: number): Range => keysFrom('ac', treeSize),
  /** The largest confirmed size, the largest sent size, and the outstanding anchor. */
  anchorHead: (): Key => 'ah',
} as const

/** Ranges that together contain every key of the log, one per family. */
export const logKeyRanges: readonly Range[] = [
  onlyKey(logKeys.identity()),
  onlyKey(logKeys.treeHead()),
  onlyKey(logKeys.sealerLease()),
  onlyKey(logKeys.anchorHead()),
  onlyKey(logKeys.stampHead()),
  logKeys.tiles(),
  keysUnder('ba'),
  logKeys.batchIds(),
  logKeys.batchRoots(),
  logKeys.checkpoints(),
  keysUnder('st'),
  logKeys.partialStamps(),
  logKeys.allValidationData(),
  keysUnder('an'),
  keysUnder('ac'),
]

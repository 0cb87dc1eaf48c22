import type { Key, Range } from '../ports/index.ts'
import { keysFrom, keysUnder, recordKey, type RecordKey, type RecordRange } from '../store/keys.ts'
import type {
  AnchorHeadRecord,
  AnchorRecord,
  BatchIndexRecord,
  BatchRecord,
  CheckpointRecord,
  ConfirmedAnchorRecord,
  ConfirmedUsesRecord,
  CosignedRecord,
  LogIdentityRecord,
  SealerLeaseRecord,
  StampHeadRecord,
  StampHistoryRecord,
  StampRecord,
  TreeHeadRecord,
  WitnessesRecord,
} from './records.ts'

/** Keys of the records that the log keeps beside its entries, made as in `keys`. For the records see `records.ts`. */
export const logKeys = {
  identity: (): RecordKey<LogIdentityRecord> => 'lg',
  /** The tree's head: size and root. A batch's commit checks it. */
  treeHead: (): RecordKey<TreeHeadRecord> => 'th',
  /** Which of several sealers is active. */
  sealerLease: (): RecordKey<SealerLeaseRecord> => 'sl',
  tile: (level: number, index: number): Key => recordKey('ti', level, index),
  tiles: (): Range => keysUnder('ti'),
  /**
   * Batches are keyed by the tree size at their end. The first one at or after `position + 1` contains the position.
   */
  batch: (treeSize: number): RecordKey<BatchRecord> => recordKey('ba', treeSize),
  batches: (): RecordRange<BatchRecord> => keysUnder('ba'),
  batchesFrom: (treeSize: number): RecordRange<BatchRecord> => keysFrom('ba', treeSize),
  /** Batches that end before this tree size. */
  batchesBefore: (treeSize: number): RecordRange<BatchRecord> => ({
    gte: keysUnder('ba').gte,
    lt: recordKey('ba', treeSize),
  }),
  batchById: (id: string): RecordKey<BatchIndexRecord> => recordKey('bx', id),
  batchIds: (): RecordRange<BatchIndexRecord> => keysUnder('bx'),
  /** The batch that ended with this root. Holds the same as `batchById`. */
  batchByRoot: (root: string): RecordKey<BatchIndexRecord> => recordKey('br', root),
  batchRoots: (): RecordRange<BatchIndexRecord> => keysUnder('br'),
  checkpoint: (treeSize: number): RecordKey<CheckpointRecord> => recordKey('cp', treeSize),
  checkpoints: (): RecordRange<CheckpointRecord> => keysUnder('cp'),
  checkpointsFrom: (treeSize: number): RecordRange<CheckpointRecord> => keysFrom('cp', treeSize),
  /** Stamps by the size of the checkpoint that was stamped. */
  stamp: (treeSize: number): RecordKey<StampRecord> => recordKey('st', treeSize),
  stamps: (): RecordRange<StampRecord> => keysUnder('st'),
  stampsFrom: (treeSize: number): RecordRange<StampRecord> => keysFrom('st', treeSize),
  /** Stamps that have no quorum yet, or never reached one. */
  partialStamp: (treeSize: number): RecordKey<StampRecord> => recordKey('sp', treeSize),
  partialStamps: (): RecordRange<StampRecord> => keysUnder('sp'),
  partialStampsFrom: (treeSize: number): RecordRange<StampRecord> => keysFrom('sp', treeSize),
  /** The stamp that was stored last. */
  stampHead: (): RecordKey<StampHeadRecord> => 'sh',
  /** Whose tokens counted from which tree size on. */
  stampHistory: (): RecordKey<StampHistoryRecord> => 'sr',
  /** Cosignatures by the size of the checkpoint. */
  cosigned: (treeSize: number): RecordKey<CosignedRecord> => recordKey('cs', treeSize),
  cosignedFrom: (treeSize: number): RecordRange<CosignedRecord> => keysFrom('cs', treeSize),
  /** What was submitted to which witness. */
  witnesses: (): RecordKey<WitnessesRecord> => 'wi',
  /** The DER of validation data, by its SHA-256 in hex. Many tokens share it. */
  validationData: (hash: string): Key => recordKey('te', hash),
  allValidationData: (): Range => keysUnder('te'),
  anchor: (treeSize: number): RecordKey<AnchorRecord> => recordKey('an', treeSize),
  anchors: (): RecordRange<AnchorRecord> => keysUnder('an'),
  /** The block of each confirmed anchor. */
  confirmedAnchor: (treeSize: number): RecordKey<ConfirmedAnchorRecord> => recordKey('ac', treeSize),
  confirmedAnchors: (): RecordRange<ConfirmedAnchorRecord> => keysUnder('ac'),
  confirmedAnchorsFrom: (treeSize: number): RecordRange<ConfirmedAnchorRecord> => keysFrom('ac', treeSize),
  /** The largest confirmed size, the largest sent size, and the outstanding anchor. */
  anchorHead: (): RecordKey<AnchorHeadRecord> => 'ah',
  /** Which transactions of the account that no anchor has are known to the operator. */
  confirmedUses: (): RecordKey<ConfirmedUsesRecord> => 'cu',
} as const

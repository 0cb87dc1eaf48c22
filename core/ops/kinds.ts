import { logKeyRanges, logKeys } from '../log/keys.ts'
import type { Key, Range } from '../ports/index.ts'
import { COUNTED, DERIVED } from '../store/derived.ts'
import { isInRange, onlyKey } from '../store/key.ts'
import { keys, registryKeyRanges } from '../store/keys.ts'

/** Every key of a registry: its families in the order of the keys. */
export const KEY_RANGES: readonly Range[] = [...logKeyRanges, ...registryKeyRanges].toSorted((a, b) =>
  a.gte < b.gte ? -1 : 1,
)

/** What a difference is about. */
export type DifferenceKind =
  /** The identity of the log, or one of its keys. */
  | 'identity'
  /** A log entry: its opening or its position. */
  | 'entry'
  | 'tile'
  | 'batch'
  /** The tree's head, or the tree that was signed last. */
  | 'head'
  | 'checkpoint'
  | 'stamp'
  | 'anchor'
  /** An event: its opening, its txId or its version. */
  | 'event'
  /** An evidence's record, compared with its history. */
  | 'evidence'
  | 'file'
  | 'category'
  | 'source system'
  /** A company, or a record of its audit trail, of uploads, deletions or idempotency keys. */
  | 'other'
  /** An entry of a list or an index. It follows from another record. */
  | 'index'
  | 'counter'
  /** The bytes of a stored file. */
  | 'blob'
  /** A key that belongs to no family. */
  | 'unknown'

const KINDS: readonly (readonly [kind: DifferenceKind, ...ranges: readonly Range[]])[] = [
  ['tile', logKeys.tiles()],
  ['index', onlyKey(logKeys.stampHead()), ...DERIVED.map(({ range }) => range)],
  ['counter', ...COUNTED.map(({ counters }) => counters)],
  ['identity', onlyKey(logKeys.identity())],
  ['head', onlyKey(logKeys.treeHead())],
  ['batch', logKeys.batchesFrom(0)],
  ['checkpoint', logKeys.checkpoints()],
  ['stamp', logKeys.stampsFrom(0), logKeys.partialStamps(), logKeys.allValidationData()],
  ['anchor', logKeys.anchorsFrom(0), logKeys.confirmedAnchorsFrom(0), onlyKey(logKeys.anchorHead())],
  ['event', keys.laterEvents()],
  ['evidence', keys.evidences()],
  ['file', keys.files()],
  ['category', keys.allCategories()],
  ['source system', keys.allSourceSystems()],
  ['other', ...KEY_RANGES],
]

/** What a difference of this record is about. */
export const kindOf = (key: Key): DifferenceKind =>
  KINDS.find(([, ...ranges]) => ranges.some((range) => isInRange(key, range)))?.[0] ?? 'unknown'

const DERIVED_KINDS: ReadonlySet<DifferenceKind> = new Set(['tile', 'index', 'counter'])

/** Whether a record follows from others. */
export const isDerived = (key: Key): boolean => DERIVED_KINDS.has(kindOf(key))

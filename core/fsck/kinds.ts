import { logKeyRanges, logKeys } from '../log/keys.ts'
import type { Key, Range } from '../ports/index.ts'
import { isInRange, onlyKey } from '../store/key.ts'
import { keys, registryKeyRanges } from '../store/keys.ts'

/** Every key of a registry: its families in the order of the keys. */
export const FAMILIES: readonly Range[] = [...logKeyRanges, ...registryKeyRanges].toSorted((a, b) =>
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
  /** A record that must refer to another one. */
  | 'index'
  | 'counter'
  /** The bytes of a stored file. */
  | 'blob'
  /** A key that belongs to no family. */
  | 'unknown'

type Kinds = readonly (readonly [kind: DifferenceKind, ...ranges: readonly Range[]])[]

/** Records that follow from others. */
const DERIVED: Kinds = [
  ['tile', logKeys.tiles()],
  [
    'index',
    logKeys.batchIds(),
    logKeys.batchRoots(),
    onlyKey(logKeys.stampHead()),
    keys.allExternalIds(),
    keys.allEvidenceListings(),
    keys.allExternalIdIndex(),
    keys.allOwnerIndex(),
    keys.allUpdateIndex(),
    keys.allFileListings(),
    keys.allCategoryNames(),
    keys.allCategoryListings(),
    keys.allSourceSystemNames(),
    keys.apiKeys(),
  ],
  ['counter', keys.evidenceCounts(), keys.categoryCounts(), keys.auditCounts()],
]

const PRIMARY: Kinds = [
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
]

const kindIn = (kinds: Kinds, key: Key): DifferenceKind | undefined =>
  kinds.find(([, ...ranges]) => ranges.some((range) => isInRange(key, range)))?.[0]

/** What a record is that follows from others. `undefined` for any other record. */
export const derivedKindOf = (key: Key): DifferenceKind | undefined => kindIn(DERIVED, key)

/** What a record is that does not follow from others. */
export const primaryKindOf = (key: Key): DifferenceKind => kindIn(PRIMARY, key) ?? 'unknown'

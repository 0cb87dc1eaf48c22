import { get, int, intAdd, intShiftLeft, load, loop, set, store, type Expr, type Statement } from './expression.ts'

/**
 * Writes the inclusion proofs of a tile's leaves: the siblings in the tile's rows `0` to `levels - 1`, then the hashes
 * above the tile, which are the same for all leaves (sealer/kernel/proofs.ts).
 */

const HASH_BYTES = 32
const VECTOR_BYTES = 16

/** Copies one hash to `out`, and advances `out`. */
const copyHash = (from: Expr): readonly Statement[] => [
  set('from', from),
  ...[0, VECTOR_BYTES].map((offset) => store(get('out'), offset, load(get('from'), offset))),
  set('out', intAdd(get('out'), int(HASH_BYTES))),
]

/** Copies the hashes above the tile. */
const copyAbove: readonly Statement[] = [
  set('hash', get('above')),
  '(block $copied',
  ...loop(
    'upper',
    [
      `(br_if $copied (i32.ge_u ${get('hash')} ${intAdd(get('above'), get('aboveBytes'))}))`,
      ...copyHash(get('hash')),
      set('hash', intAdd(get('hash'), int(HASH_BYTES))),
    ],
    int(1),
  ).map((line) => `  ${line}`),
  ')',
]

/** Copies the siblings of `leaf`, from the tile at `tile`, whose row 0 has `width` hashes. */
const copySiblings: readonly Statement[] = [
  set('row', get('tile')),
  set('rowWidth', get('width')),
  set('level', int(0)),
  '(block $above',
  ...loop(
    'sibling',
    [
      `(br_if $above (i32.ge_u ${get('level')} ${get('levels')}))`,
      ...copyHash(
        intAdd(get('row'), intShiftLeft('(i32.xor (i32.shr_u (local.get $leaf) (local.get $level)) (i32.const 1))', 5)),
      ),
      set('row', intAdd(get('row'), intShiftLeft(get('rowWidth'), 5))),
      set('rowWidth', '(i32.shr_u (local.get $rowWidth) (i32.const 1))'),
      set('level', intAdd(get('level'), int(1))),
    ],
    int(1),
  ).map((line) => `  ${line}`),
  ')',
]

/** Repeats the body for each leaf from `leaf` to `end` (exclusive). */
const eachLeaf = (body: readonly Statement[]): readonly Statement[] => [
  '(block $done',
  ...loop(
    'proof',
    [`(br_if $done (i32.ge_u ${get('leaf')} ${get('end')}))`, ...body, set('leaf', intAdd(get('leaf'), int(1)))],
    int(1),
  ).map((line) => `  ${line}`),
  ')',
]

const copyProofs: readonly Statement[] = [
  '(func (export "copyProofs")',
  '  (param $tile i32) (param $width i32) (param $levels i32) (param $above i32) (param $aboveBytes i32)',
  '  (param $leaf i32) (param $end i32) (param $out i32)',
  '  (local $row i32) (local $rowWidth i32) (local $level i32) (local $from i32) (local $hash i32)',
  ...eachLeaf([...copySiblings, ...copyAbove]).map((line) => `  ${line}`),
  ')',
]

/** `copyProofs`. */
export const proofFunctions: readonly Statement[] = copyProofs

import { and, get, int, intAdd, intShiftLeft, load, loop, set, store, type Expr, type Statement } from './expression.ts'

/**
 * Writes the inclusion proofs of a tile's leaves: the siblings in the tile's rows `0` to `levels - 1`, then the hashes
 * above the tile, which are the same for all leaves. As hashes, or as lines of text (sealer/kernel/proofs.ts).
 */

const HASH_BYTES = 32
/** A hash as a JSON item: two quotes, 64 digits, a comma. */
const ITEM_BYTES = 67
const VECTOR_BYTES = 16

/** Copies `bytes`, rounded up to whole steps, and advances `out` by exactly `bytes`. */
const copyRounded = (label: string, from: Expr, bytes: Expr, step: number): readonly Statement[] => [
  set('from', from),
  set('to', get('out')),
  set('out', intAdd(get('out'), bytes)),
  `(block $${label}Done`,
  ...loop(
    label,
    [
      `(br_if $${label}Done (i32.ge_u ${get('to')} ${get('out')}))`,
      ...Array.from({ length: step / VECTOR_BYTES }, (_, i) =>
        store(get('to'), i * VECTOR_BYTES, load(get('from'), i * VECTOR_BYTES)),
      ),
      set('from', intAdd(get('from'), int(step))),
      set('to', intAdd(get('to'), int(step))),
    ],
    int(1),
  ).map((line) => `  ${line}`),
  ')',
]

/** Copies exactly the bytes of one item. The last vector may overlap the one before. */
const copyItem = (from: Expr, bytes: number): readonly Statement[] => [
  set('from', from),
  ...Array.from({ length: Math.ceil(bytes / VECTOR_BYTES) }, (_, i) => {
    const offset = Math.min(i * VECTOR_BYTES, bytes - VECTOR_BYTES)
    return store(get('out'), offset, load(get('from'), offset))
  }),
  set('out', intAdd(get('out'), int(bytes))),
]

/** Copies the siblings of `leaf`: items of the tile at `tile`, whose row 0 has `width` items. */
const copySiblings = (bytes: number): readonly Statement[] => [
  set('row', get('tile')),
  set('rowWidth', get('width')),
  set('level', int(0)),
  '(block $above',
  ...loop(
    'sibling',
    [
      `(br_if $above (i32.ge_u ${get('level')} ${get('levels')}))`,
      ...copyItem(
        intAdd(get('row'), times(bytes, '(i32.xor (i32.shr_u (local.get $leaf) (local.get $level)) (i32.const 1))')),
        bytes,
      ),
      set('row', intAdd(get('row'), times(bytes, get('rowWidth')))),
      set('rowWidth', '(i32.shr_u (local.get $rowWidth) (i32.const 1))'),
      set('level', intAdd(get('level'), int(1))),
    ],
    int(1),
  ).map((line) => `  ${line}`),
  ')',
]

function times(factor: number, value: Expr): Expr {
  return factor === HASH_BYTES ? intShiftLeft(value, 5) : `(i32.mul ${value} ${int(factor)})`
}

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

const LOCALS = '(local $row i32) (local $rowWidth i32) (local $level i32) (local $from i32) (local $to i32)'

const copyProofs: readonly Statement[] = [
  '(func (export "copyProofs")',
  '  (param $tile i32) (param $width i32) (param $levels i32) (param $above i32) (param $aboveBytes i32)',
  '  (param $leaf i32) (param $end i32) (param $out i32)',
  `  ${LOCALS}`,
  ...eachLeaf([...copySiblings(HASH_BYTES), ...copyRounded('upper', get('above'), get('aboveBytes'), HASH_BYTES)]).map(
    (line) => `  ${line}`,
  ),
  ')',
]

const ascii = (text: string): readonly number[] => Array.from(text, (character) => character.charCodeAt(0))
const [QUOTE = 0, COMMA = 0, ZERO = 0, NINE = 0] = ascii('",09')

const constant = (bytes: readonly number[]): Expr => `(v128.const i8x16 ${bytes.join(' ')})`
const digits = (nibbles: Expr): Expr => `(i8x16.swizzle ${constant(ascii('0123456789abcdef'))} ${nibbles})`
/** Interleaves the high and the low digits, from byte `first` on. */
const interleave = (first: number): Expr =>
  `(i8x16.shuffle ${Array.from({ length: 8 }, (_, i) => `${first + i} ${16 + first + i}`).join(' ')} ${get('high')} ${get('low')})`

const writeItems: readonly Statement[] = [
  '(func (export "writeItems") (param $hashes i32) (param $count i32) (param $out i32)',
  '  (local $end i32) (local $bytes v128) (local $high v128) (local $low v128)',
  `  ${set('end', intAdd(get('hashes'), intShiftLeft(get('count'), 5)))}`,
  '  (block $done',
  ...loop(
    'item',
    [
      `(br_if $done (i32.ge_u ${get('hashes')} ${get('end')}))`,
      `(i32.store8 ${get('out')} ${int(QUOTE)})`,
      ...[0, 1].flatMap((half) => [
        set('bytes', load(get('hashes'), half * VECTOR_BYTES)),
        set('high', digits(`(i8x16.shr_u ${get('bytes')} ${int(4)})`)),
        set('low', digits(and(get('bytes'), constant(Array.from({ length: VECTOR_BYTES }, () => 15))))),
        store(get('out'), 1 + half * 2 * VECTOR_BYTES, interleave(0)),
        store(get('out'), 1 + (half * 2 + 1) * VECTOR_BYTES, interleave(8)),
      ]),
      `(i32.store16 offset=${ITEM_BYTES - 2} ${get('out')} ${int(QUOTE | (COMMA << 8))})`,
      set('hashes', intAdd(get('hashes'), int(HASH_BYTES))),
      set('out', intAdd(get('out'), int(ITEM_BYTES))),
    ],
    int(1),
  ).map((line) => `    ${line}`),
  '  )',
  ')',
]

/** Increments the decimal number whose last digit `digit` points to. It must not become longer. */
const countUp: readonly Statement[] = [
  set('from', get('digit')),
  ...loop(
    'carry',
    [
      `(if (i32.eq (i32.load8_u ${get('from')}) ${int(NINE)})`,
      '  (then',
      `    (i32.store8 ${get('from')} ${int(ZERO)})`,
      `    ${set('from', intAdd(get('from'), int(-1)))}`,
      '    (br $carry)))',
    ],
    int(0),
  ),
  `(i32.store8 ${get('from')} (i32.add (i32.load8_u ${get('from')}) ${int(1)}))`,
]

const writeLines: readonly Statement[] = [
  '(func (export "writeLines")',
  '  (param $tile i32) (param $width i32) (param $levels i32)',
  '  (param $head i32) (param $headBytes i32) (param $digit i32) (param $entry i32) (param $middle i32) (param $middleBytes i32)',
  '  (param $tail i32) (param $tailBytes i32) (param $overlap i32)',
  '  (param $leaf i32) (param $end i32) (param $out i32) (result i32)',
  `  ${LOCALS}`,
  ...eachLeaf([
    ...copyRounded('begin', get('head'), get('headBytes'), VECTOR_BYTES),
    ...copyItem(get('entry'), ITEM_BYTES),
    ...copyRounded('go', get('middle'), get('middleBytes'), VECTOR_BYTES),
    ...copySiblings(ITEM_BYTES),
    set('out', `(i32.sub ${get('out')} ${get('overlap')})`),
    ...copyRounded('upper', get('tail'), get('tailBytes'), 2 * VECTOR_BYTES),
    set('entry', intAdd(get('entry'), int(ITEM_BYTES))),
    `(if (i32.lt_u ${intAdd(get('leaf'), int(1))} ${get('end')}) (then`,
    ...countUp.map((line) => `  ${line}`),
    '))',
  ]).map((line) => `  ${line}`),
  `  ${get('out')}`,
  ')',
]

export const proofFunctions: readonly Statement[] = [...copyProofs, ...writeItems, ...writeLines]

import { LANES, SCRATCH_INPUT_AT, SCRATCH_OUTPUT_AT } from '../layout.ts'
import {
  addInitialState,
  addSavedState,
  COMPRESSION_LOCALS,
  compressBlock,
  compressLookedUp,
  saveState,
  setInitialState,
  transpose,
} from './compression.ts'
import {
  advance,
  and,
  comment,
  get,
  int,
  intAdd,
  intShiftLeft,
  intShiftRight,
  load,
  loadByte,
  loop,
  or,
  set,
  shiftLeft,
  splat,
  store,
  swapBytes,
  type Expr,
  type Statement,
} from './expression.ts'

/**
 * Hashes leaves H(00 ‖ entry) and nodes H(01 ‖ left ‖ right) (RFC 9162 § 2.1.1): any number of them, in groups of four.
 */

const HASH_BYTES = 32

/**
 * Loads the words 4·quarter to 4·quarter + 3 of four messages that are `stride` bytes apart. A message starts one byte
 * before its input, so nothing has to be shifted for the prefix. The byte there belongs to something else, and is
 * replaced by the prefix.
 */
const loadWords = (quarter: number, stride: number): readonly Statement[] =>
  transpose(
    (lane) => {
      const offset = lane * stride + quarter * 16 - 1
      return swapBytes(offset < 0 ? load(intAdd(get('input'), int(offset))) : load(get('input'), offset))
    },
    (i, word) => set(`w${quarter * 4 + i}`, word),
  )

const setPrefix = (prefix: number): Statement =>
  set('w0', or(and(get('w0'), splat(0x00_ff_ff_ff)), splat(prefix << 24)))

/** The word that ends a message: its last byte at the top of the lane, then the padding's 1 bit. */
const lastWord = (offset: number, stride: number): Expr => {
  let lanes: Expr = `(i32x4.splat ${loadByte(get('input'), offset)})`
  for (let lane = 1; lane < LANES; lane++)
    lanes = `(i32x4.replace_lane ${lane} ${lanes} ${loadByte(get('input'), lane * stride + offset)})`
  return or(shiftLeft(lanes, 24), splat(0x80_00_00))
}

const storeHalf = (names: string, offset: number): readonly Statement[] =>
  transpose(
    (word) => get(names.charAt(word)),
    (lane, value) => store(get('out'), lane * HASH_BYTES + offset, swapBytes(value)),
  )

const storeHashes: readonly Statement[] = [...storeHalf('abcd', 0), ...storeHalf('efgh', 16)]

/** A leaf's message has 33 bytes, one block. Words 9 to 14 are padding, word 15 is the length in bits. */
const leafPadding = new Map([
  [9, 0],
  [10, 0],
  [11, 0],
  [12, 0],
  [13, 0],
  [14, 0],
  [15, 8 * 33],
])

const leafGroup: readonly Statement[] = [
  comment('Four entries, their words across the lanes, prefix 00.'),
  ...loadWords(0, HASH_BYTES),
  ...loadWords(1, HASH_BYTES),
  setPrefix(0x00),
  set('w8', lastWord(31, HASH_BYTES)),
  ...Array.from(leafPadding, ([j, word]) => set(`w${j}`, splat(word))),
  comment('The one block.'),
  ...setInitialState,
  ...compressBlock(leafPadding),
  ...addInitialState,
  comment('Four hashes.'),
  ...storeHashes,
]

const nodeGroup: readonly Statement[] = [
  comment('Four pairs of children, their words across the lanes, prefix 01.'),
  ...[0, 1, 2, 3].flatMap((quarter) => loadWords(quarter, 2 * HASH_BYTES)),
  setPrefix(0x01),
  comment('First block: the prefix and 63 bytes.'),
  ...setInitialState,
  ...compressBlock(),
  ...addInitialState,
  comment('Second block: the last byte of each.'),
  ...saveState,
  ...compressLookedUp('input', [63, 127, 191, 255]),
  ...addSavedState,
  comment('Four hashes.'),
  ...storeHashes,
]

const groups = (name: string, inputBytes: number, body: readonly Statement[]): readonly Statement[] => [
  `(func $${name}Groups (param $input i32) (param $out i32) (param $groups i32)`,
  '  (local $tables i32)',
  ...COMPRESSION_LOCALS.map((line) => `  ${line}`),
  '  (if (i32.eqz (local.get $groups)) (then (return)))',
  '  (local.set $tables (global.get $tables))',
  ...loop(
    'group',
    [
      ...body,
      advance('input', LANES * inputBytes),
      advance('out', LANES * HASH_BYTES),
      set('groups', '(i32.sub (local.get $groups) (i32.const 1))'),
    ],
    get('groups'),
  ).map((line) => `  ${line}`),
  ')',
]

/**
 * Exactly `count` hashes: complete groups in place, an incomplete last group through the scratch memory. So nothing is
 * read or written outside input and output, except the byte before the input.
 */
const exactly = (name: string, inputBytes: number): readonly Statement[] => {
  const scratch = (offset: number): Expr => intAdd('(global.get $scratch)', int(offset))
  const inputShift = Math.log2(inputBytes)
  return [
    `(func (export "${name}") (param $input i32) (param $out i32) (param $count i32)`,
    '  (local $rest i32) (local $whole i32)',
    `  (call $${name}Groups ${get('input')} ${get('out')} ${intShiftRight(get('count'), 2)})`,
    `  (if (i32.eqz (local.tee $rest (i32.and ${get('count')} ${int(LANES - 1)}))) (then (return)))`,
    '  (local.set $whole (i32.sub (local.get $count) (local.get $rest)))',
    `  (memory.copy ${scratch(SCRATCH_INPUT_AT)}`,
    `    ${intAdd(get('input'), intShiftLeft(get('whole'), inputShift))} ${intShiftLeft(get('rest'), inputShift)})`,
    `  (call $${name}Groups ${scratch(SCRATCH_INPUT_AT)} ${scratch(SCRATCH_OUTPUT_AT)} ${int(1)})`,
    `  (memory.copy ${intAdd(get('out'), intShiftLeft(get('whole'), 5))}`,
    `    ${scratch(SCRATCH_OUTPUT_AT)} ${intShiftLeft(get('rest'), 5)})`,
    ')',
  ]
}

/** `hashLeaves` and `hashNodes`. */
export const hashingFunctions: readonly Statement[] = [
  ...groups('hashLeaves', HASH_BYTES, leafGroup),
  ...exactly('hashLeaves', HASH_BYTES),
  ...groups('hashNodes', 2 * HASH_BYTES, nodeGroup),
  ...exactly('hashNodes', 2 * HASH_BYTES),
]

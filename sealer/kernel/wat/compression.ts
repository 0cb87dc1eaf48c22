import { ROUND_CONSTANTS } from '../sha256.ts'
import { INITIAL_STATE_AT, LAST_BLOCK_ROW_BYTES, LAST_BLOCKS_AT, ROUND_CONSTANTS_AT } from '../layout.ts'
import {
  add,
  advance,
  get,
  int,
  intAdd,
  intShiftLeft,
  load,
  loadByte,
  loop,
  pick,
  rotateRight,
  select,
  set,
  shiftRight,
  splat,
  xor,
  type Expr,
  type Statement,
} from './expression.ts'

/**
 * SHA-256's compression of four blocks in parallel (FIPS 180-4 § 6.2.2): locals `a` to `h` are the state, `w0` to `w15`
 * the words.
 */

const NAMES = 'abcdefgh'
const STATE = NAMES.split('')
const WORDS: readonly string[] = Array.from({ length: 16 }, (_, j) => `w${j}`)
const VECTOR_BYTES = 16
/** Rounds in one iteration of the loop over a looked-up block. 8 and 16 are equally fast, 4 is 5 % slower. */
const LOOKED_UP_ROUNDS = 8

/** All locals that the functions of this file use, except `tables`, which the caller declares. */
export const COMPRESSION_LOCALS: readonly string[] = [
  ...[...STATE, ...STATE.map(saved), 't1', ...WORDS, 'r0', 'r1', 'r2', 'r3', 'u0', 'u1', 'u2', 'u3'].map(
    (name) => `(local $${name} v128)`,
  ),
  ...['k', 'end', 'row0', 'row1', 'row2', 'row3'].map((name) => `(local $${name} i32)`),
]

function saved(name: string): string {
  return `${name}Before`
}

const bigSigma0 = (a: Expr): Expr => xor(rotateRight(a, 2), rotateRight(a, 13), rotateRight(a, 22))
const bigSigma1 = (e: Expr): Expr => xor(rotateRight(e, 6), rotateRight(e, 11), rotateRight(e, 25))
const smallSigma0 = (w: Expr): Expr => xor(rotateRight(w, 7), rotateRight(w, 18), shiftRight(w, 3))
const smallSigma1 = (w: Expr): Expr => xor(rotateRight(w, 17), rotateRight(w, 19), shiftRight(w, 10))
const choose = (e: Expr, f: Expr, g: Expr): Expr => select(e, f, g)
/** If the bits of a and c are equal, the majority is a. If they differ, it is b. */
const majority = (a: Expr, b: Expr, c: Expr): Expr => select(xor(a, c), b, a)

/** Round t. Instead of moving eight values, each round uses the locals under shifted names. */
function round(t: number, wordPlusConstant: Expr): readonly Statement[] {
  const name = (i: number): string => NAMES.charAt((i - (t % 8) + 8) % 8)
  const value = (i: number): Expr => get(name(i))
  const [a, b, c, e, f, g, h] = [value(0), value(1), value(2), value(4), value(5), value(6), value(7)]
  return [
    set('t1', add(h, wordPlusConstant, choose(e, f, g), bigSigma1(e))),
    set(name(3), add(value(3), get('t1'))),
    set(name(7), add(get('t1'), majority(a, b, c), bigSigma0(a))),
  ]
}

/** Word t of the schedule replaces word t - 16. */
const scheduleWord = (j: number): Statement => {
  const word = (i: number): Expr => get(`w${(j + i) % 16}`)
  return set(`w${j}`, add(add(word(0), smallSigma0(word(1))), add(word(9), smallSigma1(word(14)))))
}

/** The state becomes H(0). */
export const setInitialState: readonly Statement[] = STATE.map((name, i) => set(name, initialWord(i)))
/** The end of the only block of a message: H(0) is added. */
export const addInitialState: readonly Statement[] = STATE.map((name, i) => set(name, add(get(name), initialWord(i))))
/** Before a block: keeps the state. */
export const saveState: readonly Statement[] = STATE.map((name) => set(saved(name), get(name)))
/** The end of a further block: the state before it is added. */
export const addSavedState: readonly Statement[] = STATE.map((name) => set(name, add(get(name), get(saved(name)))))

function initialWord(i: number): Expr {
  return load(get('tables'), INITIAL_STATE_AT + i * VECTOR_BYTES)
}

/**
 * 64 rounds over the block in `w0` to `w15`. The first 16 are unrolled, the others are three iterations of a loop that
 * computes each word right before its round. Words in locals were 7 % (nodes) and 15 % (leaves) faster than a schedule
 * written to memory first, on an AMD EPYC. `constants`: words that are the same in every message of this kind.
 */
export const compressBlock = (constants: ReadonlyMap<number, number> = new Map()): readonly Statement[] => [
  ...ROUND_CONSTANTS.slice(0, WORDS.length).flatMap((k, t) => {
    const constant = constants.get(t)
    return round(t, constant === undefined ? add(get(`w${t}`), roundConstant(get('tables'), t)) : splat(constant + k))
  }),
  set('k', get('tables')),
  set('end', intAdd(get('tables'), int(3 * 16 * VECTOR_BYTES))),
  ...loop(
    'scheduled',
    [
      ...WORDS.flatMap((word, j) => [scheduleWord(j), ...round(j, add(get(word), roundConstant(get('k'), 16 + j)))]),
      advance('k', 16 * VECTOR_BYTES),
    ],
    `(i32.lt_u ${get('k')} ${get('end')})`,
  ),
]

function roundConstant(from: Expr, t: number): Expr {
  return load(from, ROUND_CONSTANTS_AT + t * VECTOR_BYTES)
}

/**
 * 64 rounds over the second blocks of four nodes. Their schedules (with K added) are rows of a table, selected by one
 * byte each. `lastBytes`: the offsets of these bytes from `input`.
 */
export const compressLookedUp = (input: string, lastBytes: readonly [number, number, number, number]) => [
  ...lastBytes.map((offset, lane) =>
    set(
      `row${lane}`,
      intAdd(get('tables'), intShiftLeft(loadByte(get(input), offset), Math.log2(LAST_BLOCK_ROW_BYTES))),
    ),
  ),
  set('end', intAdd(get('row0'), int(LAST_BLOCK_ROW_BYTES))),
  ...loop(
    'lookedUp',
    [
      ...Array.from({ length: LOOKED_UP_ROUNDS / 4 }, (_, quarter) => [
        ...transpose(
          (lane) => load(get(`row${lane}`), LAST_BLOCKS_AT + quarter * 16),
          (i, word) => set(`w${i}`, word),
        ),
        ...[0, 1, 2, 3].flatMap((i) => round(quarter * 4 + i, get(`w${i}`))),
      ]).flat(),
      ...[0, 1, 2, 3].map((lane) => advance(`row${lane}`, LOOKED_UP_ROUNDS * 4)),
    ],
    `(i32.lt_u ${get('row0')} ${get('end')})`,
  ),
]

/**
 * Transposes four vectors with the words of one message each to four vectors with one word of all messages each, or
 * back.
 */
export function transpose(
  row: (lane: number) => Expr,
  column: (word: number, value: Expr) => Statement,
): readonly Statement[] {
  return [
    ...[0, 1, 2, 3].map((lane) => set(`r${lane}`, row(lane))),
    set('u0', pick(get('r0'), get('r1'), [0, 4, 1, 5])),
    set('u1', pick(get('r2'), get('r3'), [0, 4, 1, 5])),
    set('u2', pick(get('r0'), get('r1'), [2, 6, 3, 7])),
    set('u3', pick(get('r2'), get('r3'), [2, 6, 3, 7])),
    column(0, pick(get('u0'), get('u1'), [0, 1, 4, 5])),
    column(1, pick(get('u0'), get('u1'), [2, 3, 6, 7])),
    column(2, pick(get('u2'), get('u3'), [0, 1, 4, 5])),
    column(3, pick(get('u2'), get('u3'), [2, 3, 6, 7])),
  ]
}

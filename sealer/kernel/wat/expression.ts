/**
 * Builds the kernel's WebAssembly text (WAT): each function returns one folded expression or statement. A vector has
 * four 32-bit words (lanes), one of each of the four messages that are hashed in parallel.
 */

/** WAT that leaves one value on the stack. */
export type Expr = string
/** WAT that leaves no value: one line of the module's text. */
export type Statement = string

/** Reads a local. */
export const get = (name: string): Expr => `(local.get $${name})`
/** Writes a local. */
export const set = (name: string, value: Expr): Statement => `(local.set $${name} ${value})`
/** A comment in the text of the module. */
export const comment = (text: string): Statement => `;; ${text}`

/** A 32-bit constant. */
export const int = (value: number): Expr => `(i32.const ${value | 0})`
/** The sum of two 32-bit integers. */
export const intAdd = (a: Expr, b: Expr): Expr => `(i32.add ${a} ${b})`
/** A 32-bit integer, shifted to the left. */
export const intShiftLeft = (a: Expr, bits: number): Expr => `(i32.shl ${a} ${int(bits)})`
/** A 32-bit integer, shifted to the right with zeros. */
export const intShiftRight = (a: Expr, bits: number): Expr => `(i32.shr_u ${a} ${int(bits)})`
/** Adds a number of bytes to a local. */
export const advance = (name: string, bytes: number): Statement => set(name, intAdd(get(name), int(bytes)))

/** Loads from `address + offset`, which need not be aligned. */
export const load = (address: Expr, offset = 0): Expr => `(v128.load offset=${offset} ${address})`
/** Stores a vector at `address + offset`. */
export const store = (address: Expr, offset: number, value: Expr): Statement =>
  `(v128.store offset=${offset} ${address} ${value})`
/** Loads one byte as a 32-bit integer. */
export const loadByte = (address: Expr, offset: number): Expr => `(i32.load8_u offset=${offset} ${address})`

/** The same word in all lanes. */
export const splat = (word: number): Expr => `(v128.const i32x4${` ${word | 0}`.repeat(4)})`

const folded =
  (instruction: string) =>
  (...terms: readonly Expr[]): Expr =>
    terms.reduce((sum, term) => `(${instruction} ${sum} ${term})`)

/** The sums of the words in each lane. */
export const add = folded('i32x4.add')
/** The exclusive or of all bits. */
export const xor = folded('v128.xor')
/** The or of all bits. */
export const or = folded('v128.or')
/** The and of all bits. */
export const and = folded('v128.and')
/** Each word, shifted to the right with zeros. */
export const shiftRight = (x: Expr, bits: number): Expr => `(i32x4.shr_u ${x} ${int(bits)})`
/** Each word, shifted to the left. */
export const shiftLeft = (x: Expr, bits: number): Expr => `(i32x4.shl ${x} ${int(bits)})`
/** WebAssembly has no rotation of vectors. */
export const rotateRight = (x: Expr, bits: number): Expr => or(shiftRight(x, bits), shiftLeft(x, 32 - bits))
/** For each bit: `ones` if the mask has a 1, else `zeros`. */
export const select = (mask: Expr, ones: Expr, zeros: Expr): Expr => `(v128.bitselect ${ones} ${zeros} ${mask})`

/** Swaps the bytes of each word: SHA-256 is big-endian, WebAssembly little-endian. */
export const swapBytes = (x: Expr): Expr =>
  `(i8x16.swizzle ${x} (v128.const i8x16 3 2 1 0 7 6 5 4 11 10 9 8 15 14 13 12))`

/** Picks four words of two vectors by number: 0 to 3 are those of `x`, 4 to 7 those of `y`. */
export const pick = (x: Expr, y: Expr, words: readonly [number, number, number, number]): Expr =>
  `(i8x16.shuffle ${words.map((word) => [0, 1, 2, 3].map((byte) => word * 4 + byte).join(' ')).join(' ')} ${x} ${y})`

/** Repeats the body while the condition is not 0. */
export const loop = (label: string, body: readonly Statement[], condition: Expr): readonly Statement[] => [
  `(loop $${label}`,
  ...body.map((line) => `  ${line}`),
  `  (br_if $${label} ${condition}))`,
]

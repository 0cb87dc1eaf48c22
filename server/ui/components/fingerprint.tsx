import { wordlist } from '@scure/bip39/wordlists/english.js'
import * as texts from '../texts/index.ts'

const ID_DIGITS = 32
const [WORDS, WORD_BITS] = [8, 11]

/**
 * By what people recognize a log. It is printed, so an origin must have the same fingerprint for ever.
 *
 * @param origin - `NAME/ID` of a verified log. ID is 32 hex digits, which commit to its first key
 * @returns `id`, its first 88 bits as eight `words` of the English list of BIP-39, and all of its bits as the path of a
 *   `picture` in a square of 32
 */
export function fingerprintOf(origin: string) {
  const id = origin.slice(-ID_DIGITS)
  const digits = Array.from(id)
  const bits = digits.map((digit) => parseInt(digit, 16).toString(2).padStart(4, '0')).join('')
  const numberAt = (i: number): number => parseInt(bits.slice(i * WORD_BITS, (i + 1) * WORD_BITS), 2)
  const words = Array.from({ length: WORDS }, (_, i) => wordlist[numberAt(i)] ?? '')
  return { id, words, picture: digits.map(tileOf).join('') }
}

/** The corners of the shape of each hex digit, as digits x and y in a tile of 4 by 4. */
const SHAPES = (
  ',00404404,00404202,02424404,00202404,20404424,004004,004044,' +
  '404404,004404,004024,042044,004204,400244,20422402,11313313'
).split(',')
/** There are eight rows of four tiles, with their mirror images beside them. */
const [TILE, ROW_TILES, WIDTH] = [4, 4, 32]

function tileOf(digit: string, i: number): string {
  const [left, top] = [TILE * (i % ROW_TILES), TILE * Math.floor(i / ROW_TILES)]
  const corners = SHAPES[parseInt(digit, 16)]?.match(/../g) ?? []
  const outline = (across: (x: number) => number): string =>
    corners.map(([x, y], at) => `${at === 0 ? 'M' : 'L'}${across(left + Number(x))} ${top + Number(y)}`).join('')
  return outline((x) => x) + outline((x) => WIDTH - x)
}

/** The words and the picture of a log. They look the same on a page and on paper. */
export function Fingerprint({ origin }: { readonly origin: string }) {
  const { words, picture } = fingerprintOf(origin)
  return (
    <div class="flex print">
      <svg class="print-picture" viewBox="-4 -4 40 40" role="img" aria-label={texts.trust.picture}>
        <path d={picture} fill="currentColor" />
      </svg>
      <ol class="words" lang="en" aria-label={texts.trust.words}>
        {words.map((word, i) => (
          <li key={i}>{word}</li>
        ))}
      </ol>
    </div>
  )
}

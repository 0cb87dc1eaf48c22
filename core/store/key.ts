import { encodeUtf8, sha256, toHex } from '../bytes.ts'
import type { Key, Range } from '../ports/index.ts'

/**
 * How record keys are written. A key is a tuple of parts joined by `/`, and its first part names the record's family.
 *
 * - Text is percent-encoded over its UTF-8 bytes, except `A-Z a-z 0-9 . _ -`. So no part contains a `/`, and no part
 *   can run into the next one.
 * - A number is written as 14 hex digits, so that keys sort by their numbers.
 * - A text part that would be longer than `MAX_PART` is replaced by `~` and its SHA-256. A name of 256 characters can
 *   take 3,072 bytes when encoded, and a store accepts keys of 2,048. With the hash every text has a valid key, also
 *   text from a query that was never validated.
 * - A text whose beginning is searched for is never replaced (`searchableKey`): a prefix of the text is a prefix of its
 *   key.
 */
const MAX_PART = 400
const plain = /^[A-Za-z0-9._-]*$/

function encodeText(part: string): string {
  // Of a record that lacks a member.
  if (typeof part !== 'string') throw new TypeError(`A part of a key is missing: got ${typeof part}`)
  const encoded = encodeWholeText(part)
  return encoded.length > MAX_PART ? hashText(part) : encoded
}

const encodeWholeText = (part: string): string =>
  plain.test(part) ? part : encodeURIComponent(part.toWellFormed()).replace(/[!'()*~]/g, escapeCharacter)

const escapeCharacter = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`

const hashText = (part: string): string => `~${toHex(sha256(encodeUtf8(part)))}`

/** Encodes a safe integer >= 0 as 14 hex digits, so that keys sort by their numbers. */
export const encodeNumber = (value: number): string => value.toString(16).padStart(14, '0')

/** The key of these parts in a family. Numbers must be safe integers >= 0. */
export function recordKey(family: string, ...parts: readonly (string | number)[]): Key {
  let out = family
  for (const part of parts) out += '/' + (typeof part === 'number' ? encodeNumber(part) : encodeText(part))
  return out
}

/**
 * A key that ends with a text that can be searched by its beginning, and an id. The text has at most 128 characters,
 * so that the key is short enough in any case.
 */
export const searchableKey = (prefix: Key, text: string, id: string): Key => `${searchPrefix(prefix, text)}/${id}`

/** The keys of `searchableKey` whose text begins with `beginning`. No encoded text contains a `~`. */
export function keysBeginningWith(prefix: Key, beginning: string): Range {
  const gte = searchPrefix(prefix, beginning)
  return { gte, lt: `${gte}~` }
}

const searchPrefix = (prefix: Key, text: string): Key => `${prefix}/${encodeWholeText(text)}`

/** All keys that begin with the parts of `prefix` and have at least one more part. */
export const keysUnder = (prefix: Key): Range => ({ gte: `${prefix}/`, lt: `${prefix}0` })

/** All keys of a family whose first part is this number or a larger one. */
export const keysFrom = (family: string, first: number): Range => ({
  gte: recordKey(family, first),
  lt: keysUnder(family).lt,
})

/** The range that contains only this key. */
export const onlyKey = (key: Key): Range => ({ gte: key, lt: `${key}\0` })

export const isInRange = (key: Key, { gte, lt }: Pick<Range, 'gte' | 'lt'>): boolean => key >= gte && key < lt

/** The parts of a key, family first. Text parts are still encoded. */
export const partsOfKey = (key: Key): readonly string[] => key.split('/')

/**
 * A text with folded case, so that two texts that differ only in case become equal. `ß`, `ẞ` and `ss` become equal, and
 * so do `Σ`, `σ` and `ς`.
 */
export const foldCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase()

/** The last part of a key, for keys that end with an id. */
export const lastPartOfKey = (key: Key): string => key.slice(key.lastIndexOf('/') + 1)

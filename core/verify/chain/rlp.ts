import { keccak_256 } from '@noble/hashes/sha3.js'
import { fromHex, toHex } from '../../bytes.ts'

/** How Ethereum encodes and hashes: RLP and Keccak-256. */

/** Recursive Length Prefix (Ethereum yellow paper, appendix B): byte strings, here as `0x` hex, and lists of them. */
export type RlpItem = string | readonly RlpItem[]

const MAX_SHORT_BYTES = 55
const STRING = 0x80
const LIST = 0xc0

/** Returns lowercase `0x` hex. Requires every string to be `0x` and pairs of hex digits. */
export const encodeRlp = (item: RlpItem): string => `0x${encodeItem(item)}`

function encodeItem(item: RlpItem): string {
  if (typeof item !== 'string') {
    const payload = item.map(encodeItem).join('')
    return encodeHead(payload, LIST) + payload
  }
  const payload = item.slice(2).toLowerCase()
  return payload.length === 2 && payload < '80' ? payload : encodeHead(payload, STRING) + payload
}

function encodeHead(payload: string, kind: number): string {
  const length = payload.length / 2
  if (length <= MAX_SHORT_BYTES) return (kind + length).toString(16)
  const digits = evenHex(length)
  return (kind + MAX_SHORT_BYTES + digits.length / 2).toString(16) + digits
}

const evenHex = (value: number): string => {
  const digits = value.toString(16)
  return digits.length % 2 === 0 ? digits : `0${digits}`
}

/** A registry's transaction and a header have some 20, and a node of a trie 17. More would only cost time. */
const MAX_ITEMS = 1_024

/**
 * Decodes the one canonical encoding of an item. Throws a TypeError or RangeError for anything else.
 *
 * @param maxItems - at any depth
 */
export function decodeRlp(encoded: Uint8Array | string, maxItems = MAX_ITEMS): RlpItem {
  const bytes = typeof encoded === 'string' ? fromHex(encoded.slice(2)) : encoded
  if (bytes === undefined) throw new TypeError('RLP needs 0x and pairs of lowercase hex digits')
  const { item, end } = decodeItem(bytes, 0, { left: maxItems })
  if (end !== bytes.length) throw new TypeError('There are bytes after the RLP item')
  return item
}

interface Decoded {
  readonly item: RlpItem
  /** Position after the item. */
  readonly end: number
}

/** How many items may follow. */
interface Limit {
  left: number
}

function decodeItem(bytes: Uint8Array, offset: number, limit: Limit): Decoded {
  if (limit.left-- === 0) throw new RangeError('RLP has too many items')
  const first = byteAt(bytes, offset)
  if (first < STRING) return { item: hexOf(bytes.subarray(offset, offset + 1)), end: offset + 1 }
  const { start, end } = payloadOf(bytes, offset, first < LIST ? first - STRING : first - LIST)
  if (end > bytes.length) throw new TypeError('An RLP item is cut short')
  if (first >= LIST) return { item: decodeList(bytes, start, end, limit), end }
  if (end - start === 1 && byteAt(bytes, start) < STRING) throw new TypeError('A single byte has an RLP length')
  return { item: hexOf(bytes.subarray(start, end)), end }
}

function payloadOf(bytes: Uint8Array, offset: number, code: number): { readonly start: number; readonly end: number } {
  if (code <= MAX_SHORT_BYTES) return { start: offset + 1, end: offset + 1 + code }
  const start = offset + 1 + code - MAX_SHORT_BYTES
  const length = Number(hexOf(bytes.subarray(offset + 1, start)))
  if (byteAt(bytes, offset + 1) === 0 || length <= MAX_SHORT_BYTES) throw new TypeError('An RLP length is not minimal')
  return { start, end: start + length }
}

function decodeList(bytes: Uint8Array, start: number, end: number, limit: Limit): readonly RlpItem[] {
  const items: RlpItem[] = []
  for (let offset = start; offset < end;) {
    const decoded = decodeItem(bytes, offset, limit)
    if (decoded.end > end) throw new TypeError('An RLP item exceeds its list')
    items.push(decoded.item)
    offset = decoded.end
  }
  return items
}

function byteAt(bytes: Uint8Array, offset: number): number {
  const byte = bytes[offset]
  if (byte === undefined) throw new TypeError('An RLP item is cut short')
  return byte
}

/** `0x` and lowercase hex. */
export const hexOf = (bytes: Uint8Array): string => `0x${toHex(bytes)}`

/** Keccak-256 of bytes or of `0x` hex, as `0x` and 64 lowercase digits. Throws a TypeError for other text. */
export function keccak256(data: Uint8Array | string): string {
  const bytes = typeof data === 'string' ? fromHex(data.slice(2).toLowerCase()) : data
  if (bytes === undefined) throw new TypeError('Keccak-256 needs 0x and pairs of hex digits')
  return hexOf(keccak_256(bytes))
}

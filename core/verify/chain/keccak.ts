import { keccak_256 } from '@noble/hashes/sha3.js'
import { fromHex } from '../../bytes.ts'
import { hexOf } from './rlp.ts'

/** Keccak-256 of bytes or of `0x` hex, as `0x` and 64 lowercase digits. Throws a TypeError for other text. */
export function keccak256(data: Uint8Array | string): string {
  const bytes = typeof data === 'string' ? fromHex(data.slice(2).toLowerCase()) : data
  if (bytes === undefined) throw new TypeError('Keccak-256 needs 0x and pairs of hex digits')
  return hexOf(keccak_256(bytes))
}

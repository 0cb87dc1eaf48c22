import { crc32 } from 'node:zlib'
import { allocate } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import { shownKey } from './keys.ts'

/**
 * The form in which a store keeps a value: u32 CRC-32 ‖ value. The CRC is computed over the key and the value, so it
 * also detects a value that is returned for another key. It takes 0.3 to 0.5 µs. It detects damage, not tampering: the
 * registry's own hash chain and tree detect that.
 */
const CRC_BYTES = 4

/** Encodes the parts of a value, joined, under a key. A text key is hashed as UTF-8. */
export function withChecksum(key: string | Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  let length = CRC_BYTES
  for (const part of parts) length += part.length
  const out = allocate(length)
  let at = CRC_BYTES
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  const crc = crc32(out.subarray(CRC_BYTES), crc32(key))
  for (let i = 0; i < CRC_BYTES; i += 1) out[i] = crc >>> (8 * (CRC_BYTES - 1 - i))
  return out
}

/**
 * Returns a view of the value in an envelope.
 *
 * @throws RegistryError `CORRUPT` if the bytes are not what `withChecksum` made for this key
 */
export function checked(key: string | Uint8Array, sealed: Uint8Array): Uint8Array {
  const value = sealed.subarray(CRC_BYTES)
  if (sealed.length < CRC_BYTES || readCrc(sealed) !== crc32(value, crc32(key))) throw damagedValue(key)
  return value
}

const readCrc = (bytes: Uint8Array): number =>
  (((bytes[0] ?? 0) << 24) | ((bytes[1] ?? 0) << 16) | ((bytes[2] ?? 0) << 8) | (bytes[3] ?? 0)) >>> 0

/** `CORRUPT` for a value that fails its check. The message names the key as a log may show it. */
export class DamagedValueError extends RegistryError {
  /** The whole key, with bytes that are not printable in hex. */
  readonly key: string

  constructor(key: string | Uint8Array) {
    const name = nameOfKey(key)
    super(
      'CORRUPT',
      `The stored value of ${shownKey(name)} is damaged (its CRC-32 differs): restore the record store from a backup`,
    )
    this.key = name
  }
}

export const damagedValue = (key: string | Uint8Array): RegistryError => new DamagedValueError(key)

const nameOfKey = (key: string | Uint8Array): string =>
  (typeof key === 'string' ? key : Buffer.from(key).toString('latin1')).replace(
    /[^\x21-\x7e]/g,
    (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )

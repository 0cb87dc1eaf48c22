/** How LevelDB 1.20 encodes what is in its files: checksums, numbers, and blocks that are compressed with Snappy. */

/** Eight tables of 256 words for CRC-32C, which take eight bytes in one step. */
const CRC_TABLES = new Int32Array(8 * 256)
for (let i = 0; i < 256; i += 1) {
  let crc = i
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  CRC_TABLES[i] = crc
}
for (let i = 256; i < 2_048; i += 1) {
  const previous = word(i - 256)
  CRC_TABLES[i] = word(previous & 255) ^ (previous >>> 8)
}

function word(index: number): number {
  return CRC_TABLES[index] ?? 0
}

/** The CRC-32C of the bytes from `start` to `end`, in the masked form in which LevelDB stores it. */
export function maskedCrc(bytes: DataView, start: number, end: number): number {
  let crc = -1
  let at = start
  for (; at + 8 <= end; at += 8) {
    const low = crc ^ bytes.getInt32(at, true)
    const high = bytes.getInt32(at + 4, true)
    crc =
      word(1_792 + (low & 255)) ^
      word(1_536 + ((low >>> 8) & 255)) ^
      word(1_280 + ((low >>> 16) & 255)) ^
      word(1_024 + (low >>> 24)) ^
      word(768 + (high & 255)) ^
      word(512 + ((high >>> 8) & 255)) ^
      word(256 + ((high >>> 16) & 255)) ^
      word(high >>> 24)
  }
  for (; at < end; at += 1) crc = word((crc ^ bytes.getUint8(at)) & 255) ^ (crc >>> 8)
  return (((~crc >>> 15) | (~crc << 17)) + 0xa282ead8) >>> 0
}

export const viewOf = ({ buffer, byteOffset, length }: Uint8Array): DataView => new DataView(buffer, byteOffset, length)

/** Reads encoded values one after the other. Throws `RangeError` behind the end. */
export class Cursor {
  at = 0
  readonly #bytes: Uint8Array
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
  }

  isAtEnd(): boolean {
    return this.at >= this.#bytes.length
  }

  byte(): number {
    return this.#view.getUint8(this.at++)
  }

  /** A number of 1 to 4 bytes, the lowest first. */
  number(bytes: number): number {
    let value = 0
    for (let i = 0; i < bytes; i += 1) value += this.byte() * 256 ** i
    return value
  }

  /** A number in groups of seven bits. Refuses a longer form than LevelDB writes. */
  varint(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte()
      value += (byte & 127) * scale
      if (byte === 0 && scale > 1) throw new RangeError('The number is longer than it must be')
      if (byte < 128) return value
    }
  }

  take(length: number): Uint8Array {
    this.at += length
    if (this.at > this.#bytes.length) throw new RangeError('The value is cut off')
    return this.#bytes.subarray(this.at - length, this.at)
  }
}

/** Decompresses a block of Snappy: literals, and copies of what was decompressed before. */
export function decompress(bytes: Uint8Array): Uint8Array {
  const from = new Cursor(bytes)
  const out = new Uint8Array(from.varint())
  let end = 0
  while (!from.isAtEnd()) {
    const tag = from.byte()
    const kind = tag & 3
    const bits = tag >>> 2
    if (kind === 0) {
      const literal = from.take(1 + (bits < 60 ? bits : from.number(bits - 59)))
      out.set(literal, end)
      end += literal.length
      continue
    }
    const length = kind === 1 ? 4 + (bits & 7) : 1 + bits
    const distance = kind === 1 ? (tag >>> 5) * 256 + from.byte() : from.number(kind === 2 ? 2 : 4)
    // A copy may overlap with itself: then it repeats.
    for (const stop = end + length; end < stop; end += 1) out[end] = out[end - distance] ?? 0
  }
  return out
}

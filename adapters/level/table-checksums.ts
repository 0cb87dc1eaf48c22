import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '../files/errors.ts'
import type { CheckedPart } from '../kit/index.ts'
import { Cursor, decompress, maskedCrc, viewOf } from './encoding.ts'

/**
 * A table (`NUMBER.ldb`) is blocks without gaps: data, one block for its filter, the metaindex, the index. The index
 * has the place of each block of data. A footer of 48 bytes has the places of the last two. Behind each block are one
 * byte for its type (1 if it is compressed) and a CRC-32C of both. LevelDB reads without it, and classic-level has no
 * option for that.
 */
const FOOTER_BYTES = 48
const MAGIC = 0xdb4775248b80fb57n
const TRAILER_BYTES = 5

/** So much is read at a time, at least one block: 2 to 4 ms of work. */
const PART_BYTES = 2 * 1_024 * 1_024

/** Where a block begins, and where its trailer ends. */
interface Place {
  readonly start: number
  readonly end: number
}

/** Checks every byte of a table. No file is open between two parts. Throws `ENOENT` if LevelDB has removed it. */
export async function* checkTable(database: string, file: string): AsyncGenerator<CheckedPart> {
  const path = join(database, file)
  const { size } = await stat(path)
  const footerAt = Math.max(0, size - FOOTER_BYTES)
  const footer = await readPart(path, { start: footerAt, end: size })
  const [metaindex, index] = attempt(() => decodeFooter(footer, footerAt)) ?? []
  yield { file, bytes: footer.length, ...(index === undefined && { damagedAt: footerAt }) }
  if (metaindex === undefined || index === undefined) return
  const indexBytes = await readPart(path, index)
  const places = attempt(() => isSound(indexBytes, index, index) && placesOf(indexBytes, metaindex)) || undefined
  yield { file, bytes: indexBytes.length, ...(places === undefined && { damagedAt: index.start }) }
  for (const [part, blocks] of partsOf(places ?? [])) {
    const bytes = await readPart(path, part)
    const damaged = blocks.find((block) => attempt(() => isSound(bytes, part, block)) !== true)
    yield { file, bytes: bytes.length, ...(damaged && { damagedAt: damaged.start }) }
  }
}

/** Blocks that are read together. */
function* partsOf(blocks: readonly Place[]): Generator<readonly [Place, readonly Place[]]> {
  let group: Place[] = []
  let start = 0
  for (const block of blocks) {
    group.push(block)
    const { end } = block
    if (end - start < PART_BYTES && block !== blocks.at(-1)) continue
    yield [{ start, end }, group]
    group = []
    start = end
  }
}

/** Whether a block in a part of the file has the checksum behind it. Throws `RangeError` if it is cut off. */
function isSound(bytes: Uint8Array, part: Place, { start, end }: Place): boolean {
  const view = viewOf(bytes)
  const crcAt = end - part.start - 4
  return maskedCrc(view, start - part.start, crcAt) === view.getUint32(crcAt, true)
}

/** The places of the metaindex and of the index. */
function decodeFooter(footer: Uint8Array, footerAt: number): readonly [Place, Place] {
  const cursor = new Cursor(footer)
  const places = [decodePlace(cursor), decodePlace(cursor)] as const
  const [metaindex, index] = places
  const isPadded = footer.subarray(cursor.at, FOOTER_BYTES - 8).every((byte) => byte === 0)
  const isMagic = viewOf(footer).getBigUint64(FOOTER_BYTES - 8, true) === MAGIC
  const isJoined = metaindex.end === index.start && index.end === footerAt
  if (!isPadded || !isMagic || !isJoined) throw new RangeError('This is not the footer of a table')
  return places
}

function decodePlace(cursor: Cursor): Place {
  const start = cursor.varint()
  return { start, end: start + cursor.varint() + TRAILER_BYTES }
}

/** All blocks before the index, by what the index says. */
function placesOf(indexBytes: Uint8Array, metaindex: Place): readonly Place[] {
  const stored = indexBytes.subarray(0, -TRAILER_BYTES)
  const index = indexBytes.at(-TRAILER_BYTES) === 1 ? decompress(stored) : stored
  const restarts = viewOf(index).getUint32(index.length - 4, true)
  const cursor = new Cursor(index.subarray(0, index.length - 4 - restarts * 4))
  const places: Place[] = []
  let end = 0
  while (!cursor.isAtEnd()) {
    // The bytes of the key that it shares with the one before, its own ones, and those of the value.
    cursor.varint()
    const ownBytes = cursor.varint()
    cursor.varint()
    cursor.take(ownBytes)
    const place = decodePlace(cursor)
    if (place.start !== end) throw new RangeError('A block does not begin at the end of the one before it')
    places.push(place)
    end = place.end
  }
  if (end < metaindex.start) places.push({ start: end, end: metaindex.start })
  return [...places, metaindex]
}

/** Returns `undefined` for bytes that are not what they should be. */
function attempt<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Reads a part of a file: less of it at the end of the file, or if the disk cannot read on. */
async function readPart(path: string, { start, end }: Place): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(end - start)
  let done = 0
  const handle = await open(path)
  try {
    for (let read = -1; read !== 0 && done < bytes.length; done += read)
      read = (await handle.read(bytes, done, bytes.length - done, start + done)).bytesRead
  } catch (error) {
    if (errnoOf(error) !== 'EIO') throw error
  } finally {
    await handle.close()
  }
  return bytes.subarray(0, done)
}

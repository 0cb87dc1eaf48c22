import { concatBytes, decodeUtf8, encodeUtf8, readU64, u64 } from '../bytes.ts'
import { isRegistryError, RegistryError } from '../errors.ts'
import { logKeys } from '../log/keys.ts'
import type { Stored, Key, LogAppend, Range, RecordSnapshot } from '../ports/index.ts'
import { checked, withChecksum } from '../store/checksum.ts'
import { LOG_ENTRY_BYTES, payloadsOfRows, ROW_ENTRIES, rowOf } from '../store/log-rows.ts'
import { isInRange, keys, onlyKey } from '../store/keys.ts'
import { decodeRecord } from '../store/codec.ts'

/**
 * The log and all records of a registry as one stream of bytes, which is the form in which a backup holds them. It can
 * be read back into any record store.
 *
 * The stream is a sequence of frames: one byte for the kind, u32 length of what follows, u32 CRC-32, body. The kinds,
 * in the order in which they occur:
 *
 * | kind | body                                                                                        |
 * |------|---------------------------------------------------------------------------------------------|
 * | `H`  | the version of this format (u64 1), u64 number of log entries                               |
 * | `L`  | 1 to 256 log entries of 32 bytes, then their payloads, each after its length in two bytes   |
 * | `R`  | u64 length of the key, the key, the value; in the order of the keys                         |
 * | `E`  | u64 number of records                                                                       |
 *
 * The body of `L` begins with the number of its entries (u64).
 */
const FORMAT = 1
const KIND = { head: 'H', log: 'L', record: 'R', end: 'E' } as const

const HEAD_BYTES = 5
const U64_BYTES = 8
/** Pieces of the stream are joined to this size, so that a file is not written record by record. */
const CHUNK_BYTES = 256 * 1024
/** A frame is never longer: a record is at most one request, and a row of payloads has at most 256 × 16,384 bytes. */
const MAX_FRAME_BYTES = 512 * 1024 * 1024

/** Every key: keys are printable ASCII. */
export const ALL_KEYS: Range = { gte: ' ', lt: '\x7f' }

/** Log entries that are read at once: PostgreSQL ends a statement that takes more than 15 s. */
const READ_ENTRIES = 64 * ROW_ENTRIES

/** Records that describe one store only. A copy has no old values that must be erased. */
const OF_ONE_STORE = [onlyKey(keys.filling()), onlyKey(logKeys.sealerLease()), keys.pendingErasures()]
const isCopied = (key: Key): boolean => !OF_ONE_STORE.some((range) => isInRange(key, range))

export type CopiedRecord = Pick<Stored, 'key' | 'value'>

/** The log and the records of a store or a snapshot. */
type StoreReader = Omit<RecordSnapshot, 'close'>

export interface RecordStreamHandlers {
  /** Called for each record, after it was written to the stream. */
  onRecord?(record: CopiedRecord): void
  /** `done`: log entries and records so far. */
  onProgress?(done: number): void
}

/** Writes the log and all records of a store as a stream of bytes, without those that describe one store only. */
export async function* encodeRecords(
  store: StoreReader,
  handlers: RecordStreamHandlers = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = new ChunkJoiner()
  for await (const frame of framesOf(store, handlers)) {
    const chunk = chunks.add(frame)
    if (chunk !== undefined) yield chunk
  }
  yield chunks.rest()
}

async function* framesOf(store: StoreReader, handlers: RecordStreamHandlers): AsyncGenerator<Uint8Array> {
  const logSize = await store.logSize()
  yield frameOf(KIND.head, u64(FORMAT), u64(logSize))
  for (let at = 0; at < logSize;) {
    const appends = await readAppends(store, at, Math.min(READ_ENTRIES, logSize - at))
    if (appends.length === 0)
      throw new RegistryError('CORRUPT', `The log of ${logSize} entries ends at ${at}: check the store with fsck`)
    for (let row = 0; row < appends.length; row += ROW_ENTRIES) yield logFrame(appends.slice(row, row + ROW_ENTRIES))
    at += appends.length
    handlers.onProgress?.(at)
  }
  let records = 0
  for await (const { key, value } of store.list(ALL_KEYS)) {
    if (!isCopied(key)) continue
    yield frameOf(KIND.record, u64(key.length), encodeUtf8(key), value)
    records += 1
    handlers.onRecord?.({ key, value })
    handlers.onProgress?.(logSize + records)
  }
  yield frameOf(KIND.end, u64(records))
}

/** Reads log entries with their payloads. Returns fewer than `count` if the log, or its payloads, end before. */
async function readAppends(store: StoreReader, from: number, count: number): Promise<readonly LogAppend[]> {
  const [entries, payloads] = await Promise.all([store.readLog(from, count), store.readPayloads(from, count)])
  const length = Math.min(payloads.length, entries.length / LOG_ENTRY_BYTES)
  return payloads.slice(0, length).map((payload, i) => ({ entry: entryAt(entries, i), payload }))
}

const entryAt = (entries: Uint8Array, index: number): Uint8Array =>
  entries.subarray(index * LOG_ENTRY_BYTES, (index + 1) * LOG_ENTRY_BYTES)

function logFrame(appends: readonly LogAppend[]): Uint8Array {
  const { entries, payloads } = rowOf(0, appends)
  return frameOf(KIND.log, u64(appends.length), entries, payloads)
}

function frameOf(kind: string, ...parts: readonly Uint8Array[]): Uint8Array {
  const sealed = withChecksum(kind, ...parts)
  const head = new Uint8Array(HEAD_BYTES)
  head.set(encodeUtf8(kind))
  new DataView(head.buffer).setUint32(1, sealed.length)
  return concatBytes(head, sealed)
}

class ChunkJoiner {
  #parts: Uint8Array[] = []
  #bytes = 0

  /** Returns a chunk once it is long enough. */
  add(part: Uint8Array): Uint8Array | undefined {
    this.#parts.push(part)
    this.#bytes += part.length
    return this.#bytes < CHUNK_BYTES ? undefined : this.rest()
  }

  rest(): Uint8Array {
    const chunk = concatBytes(...this.#parts)
    this.#parts = []
    this.#bytes = 0
    return chunk
  }
}

/** The size of the sealed tree in a record, `undefined` if the record is another one. */
export function treeSizeIn({ key, value }: CopiedRecord): number | undefined {
  const headKey = logKeys.treeHead()
  return key === headKey ? decodeRecord({ key: headKey, value }).size : undefined
}

/** Some log entries, or one record. */
export type StreamPart = { readonly appends: readonly LogAppend[] } | CopiedRecord

/**
 * Yields what `encodeRecords` wrote: the log, 1 to 256 entries at a time, then each record in the order of their keys.
 *
 * @throws RegistryError `CORRUPT` if the stream is damaged or ends early, `CONFIG_ERROR` if a newer version wrote it
 */
export async function* decodeRecords(stream: AsyncIterable<Uint8Array>): AsyncGenerator<StreamPart, void, undefined> {
  let logSize: number | undefined
  let [entries, records, isComplete] = [0, 0, false]
  for await (const { kind, body } of decodeFrames(stream)) {
    if (isComplete) throw damaged('it goes on after its end')
    if (logSize === undefined) logSize = logSizeOf({ kind, body })
    else if (kind === KIND.log && records === 0) {
      const appends = appendsIn(body)
      entries += appends.length
      yield { appends }
    } else if (kind === KIND.record) {
      records += 1
      yield recordIn(body)
    } else isComplete = kind === KIND.end && entries === logSize && readU64(body) === records
  }
  if (!isComplete) throw damaged('it does not have its whole log and all its records')
}

/** A stream of `encodeRecords` without the records of some keys. Throws what `decodeRecords` throws. */
export async function* withoutRecords(
  stream: AsyncIterable<Uint8Array>,
  leftOut: ReadonlySet<Key>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let records = 0
  for await (const { kind, body } of decodeFrames(stream)) {
    const isRecord = kind === KIND.record
    if (isRecord && leftOut.has(recordIn(body).key)) continue
    if (isRecord) records += 1
    yield kind === KIND.end ? frameOf(kind, u64(records)) : frameOf(kind, body)
  }
}

interface Frame {
  readonly kind: string
  readonly body: Uint8Array
}

/** Yields the frames of a stream, and checks the CRC of each. */
async function* decodeFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Frame, void, undefined> {
  const reader = new FrameReader()
  for await (const chunk of chunks) {
    reader.add(chunk)
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) yield frame
  }
  if (reader.hasRest) throw damaged('it ends inside a record')
}

/** Cuts bytes that arrive in pieces of any size into frames. */
class FrameReader {
  #bytes: Uint8Array = new Uint8Array()
  #at = 0
  #waiting: Uint8Array[] = []
  #waitingBytes = 0

  add(chunk: Uint8Array): void {
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.length
  }

  get hasRest(): boolean {
    return this.#bytes.length - this.#at + this.#waitingBytes > 0
  }

  /** Returns the next frame, or `undefined` if its bytes have not arrived yet. */
  next(): Frame | undefined {
    if (!this.#has(HEAD_BYTES)) return undefined
    const head = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + this.#at, HEAD_BYTES)
    const [kind, length] = [String.fromCharCode(head.getUint8(0)), head.getUint32(1)]
    if (length > MAX_FRAME_BYTES) throw damaged('a length in it is wrong')
    if (!this.#has(HEAD_BYTES + length)) return undefined
    const start = this.#at + HEAD_BYTES
    this.#at = start + length
    return { kind, body: openFrame(kind, this.#bytes.subarray(start, this.#at)) }
  }

  /** Joins waiting pieces only if they are needed and complete the frame, so that each byte is copied once. */
  #has(count: number): boolean {
    const available = this.#bytes.length - this.#at
    if (available >= count) return true
    if (available + this.#waitingBytes < count) return false
    this.#bytes = concatBytes(this.#bytes.subarray(this.#at), ...this.#waiting)
    this.#at = 0
    this.#waiting = []
    this.#waitingBytes = 0
    return true
  }
}

function openFrame(kind: string, sealed: Uint8Array): Uint8Array {
  try {
    return checked(kind, sealed)
  } catch (error) {
    throw isRegistryError(error) ? damaged('a CRC-32 in it differs') : error
  }
}

function logSizeOf({ kind, body }: Frame): number {
  if (kind !== KIND.head || body.length !== 2 * U64_BYTES) throw damaged('it does not begin with its head')
  const format = readU64(body)
  if (format === FORMAT) return readU64(body, U64_BYTES)
  throw new RegistryError(
    'CONFIG_ERROR',
    `The records have format ${format}, this version reads ${FORMAT}: use a newer version`,
  )
}

function appendsIn(body: Uint8Array): readonly LogAppend[] {
  const count = readU64(body)
  const entriesEnd = U64_BYTES + count * LOG_ENTRY_BYTES
  const payloads = payloadsOfRows([{ start: 0, payloads: body.subarray(entriesEnd) }], 0, count)
  if (payloads.length !== count) throw damaged('log entries and payloads differ in number')
  const entries = body.subarray(U64_BYTES, entriesEnd)
  return payloads.map((payload, i) => ({ entry: entryAt(entries, i), payload }))
}

function recordIn(body: Uint8Array): CopiedRecord {
  const keyEnd = U64_BYTES + readU64(body)
  return { key: decodeUtf8(body.subarray(U64_BYTES, keyEnd)), value: body.slice(keyEnd) }
}

const damaged = (how: string): RegistryError =>
  new RegistryError('CORRUPT', `The records of the backup are damaged: ${how}. Use another backup`)

import type { BlobStore, Key, RecordStore } from '../ports/index.ts'
import { decorateRecords } from '../store/decorate-records.ts'
import { isInRange, onlyKey } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import type { DeletedFileRecord, FileRecord } from '../store/records.ts'
import { TILE_WIDTH } from '../log/tree/tile.ts'
import { checkBytes } from './blobs.ts'
import type { Check } from './check.ts'
import { readInRanges } from './scrub-blobs.ts'
import { checkLogPage } from './scrub-log.ts'
import { checkRecordPage, rangeFrom, readPage } from './scrub-records.ts'

/** What a pass reads, in this order. */
export type ScrubStage = 'log' | 'records' | 'blobs'

/** Where a pass continues: a position of the log, or the first key that was not read. */
export type ScrubPosition =
  | { readonly stage: 'log'; readonly from: number }
  | { readonly stage: 'records' | 'blobs'; readonly from: Key }

export const PASS_START: ScrubPosition = { stage: 'log', from: 0 }
const RECORDS_START: ScrubPosition = { stage: 'records', from: '' }
const BLOBS_START: ScrubPosition = { stage: 'blobs', from: keys.files().gte }

export interface ScrubStores {
  readonly blobs: BlobStore
  readonly origin: string
  /** Called after each part of a file. It may wait. */
  readonly onFileBytes: (bytes: number) => Promise<void>
}

export interface ScrubStep {
  /** `undefined` at the end of the pass. */
  readonly next: ScrubPosition | undefined
  /** How many entries, records or files were checked. */
  readonly count: number
}

/** Checks what is next at a position: one tile of the log, one page of records, or one file. */
export function runStep(check: Check, stores: ScrubStores, position: ScrubPosition): Promise<ScrubStep> {
  if (position.stage === 'log') return checkLog(check, position.from)
  if (position.stage === 'records') return checkRecords(check, stores.origin, position.from)
  return checkFile(check, stores, position.from)
}

/** Where to continue if a position cannot be read because of damage. */
export function positionBehind({ stage, from }: ScrubPosition): ScrubPosition | undefined {
  if (stage === 'log') return { stage, from: from + TILE_WIDTH }
  const range = rangeFrom(from)
  return stage === 'records' && range !== undefined ? { stage, from: range.lt } : undefined
}

async function checkLog(check: Check, from: number): Promise<ScrubStep> {
  // A position behind the end follows only from damage.
  if (from > 0 && from >= (await check.records.logSize())) return { count: 0, next: RECORDS_START }
  const count = await checkLogPage(check, from)
  return { count, next: count < TILE_WIDTH ? RECORDS_START : { stage: 'log', from: from + TILE_WIDTH } }
}

async function checkRecords(check: Check, origin: string, from: Key): Promise<ScrubStep> {
  const range = rangeFrom(from)
  if (range === undefined) return { count: 0, next: BLOBS_START }
  const { next, count } = await checkRecordPage(check, origin, range)
  return { count, next: { stage: 'records', from: next } }
}

async function checkFile(check: Check, { blobs, onFileBytes }: ScrubStores, from: Key): Promise<ScrubStep> {
  const range = keys.files()
  if (!isInRange(from, range)) return { count: 0, next: undefined }
  const [entry] = await readPage(check.records, { gte: from, lt: range.lt, limit: 1 })
  if (entry === undefined) return { count: 0, next: undefined }
  const file = check.decode<FileRecord | DeletedFileRecord>('file', entry)
  const readable = file !== undefined && 'size' in file ? readInRanges(blobs, file.size, onFileBytes) : blobs
  if (file !== undefined) await checkBytes(check, readable, file)
  return { count: 1, next: { stage: 'blobs', from: onlyKey(entry.key).lt } }
}

/** The same store, which reports how many bytes were read. */
export const meteredRecords = (records: RecordStore, onBytes: (bytes: number) => void): RecordStore =>
  decorateRecords(records, {
    async get(wanted) {
      const entries = await records.get(wanted)
      for (const entry of entries) onBytes(entry === undefined ? 0 : entry.key.length + entry.value.length)
      return entries
    },
    async *list(range) {
      for await (const entry of records.list(range)) {
        onBytes(entry.key.length + entry.value.length)
        yield entry
      }
    },
    async readLog(from, count) {
      const packed = await records.readLog(from, count)
      onBytes(packed.length)
      return packed
    },
    async readPayloads(from, count) {
      const payloads = await records.readPayloads(from, count)
      for (const payload of payloads) onBytes(payload.length)
      return payloads
    },
  })

import { equalBytes } from '../bytes.ts'
import { logKeys } from '../log/keys.ts'
import { LogReader } from '../log/reader.ts'
import type { TreeHeadRecord } from '../log/records.ts'
import { leafHash } from '../log/tree/hash.ts'
import { buildTile, TILE_WIDTH } from '../log/tree/tile.ts'
import type { BlobStore, Stored } from '../ports/index.ts'
import { firstEventOf } from '../store/evidence.ts'
import { keys, isInRange, partsOfKey, type StoredRecord } from '../store/keys.ts'
import { listEntries, readAll } from '../store/read.ts'
import { storedBytes } from '../store/codec.ts'
import type { DeletedFileRecord, EventRecord, EvidenceRecord, FileRecord } from '../store/records.ts'
import { checkBytes } from './blobs.ts'
import { PAGE_RECORDS, type Check, KEY_RANGES } from './check.ts'
import { checkOpening } from './history.ts'
import { checkLogPage } from './log.ts'

/** The position where a pass begins. After the log, a position is the first key that was not read. */
export const PASS_START = 'log/0'

/** The position in the log of a position in a pass. Pages begin where tiles do. */
function positionInLog(position: string): number | undefined {
  const digits = /^log\/(\d+)$/.exec(position)?.[1]
  return digits === undefined ? undefined : Math.floor(Number(digits) / TILE_WIDTH) * TILE_WIDTH
}

export interface ScrubStores {
  readonly blobs: BlobStore
  readonly origin: string
  /** Called after each part of a file. It may wait. */
  readonly onFileBytes: (bytes: number) => Promise<void>
}

/** A page that was checked. */
export interface ScrubPage {
  /** Where the next page begins. `undefined`: this was the last one. */
  readonly next: string | undefined
  /** How many entries, records and files it has. */
  readonly checked: { readonly log?: number; readonly records?: number; readonly blobs?: number }
}

/**
 * Checks the page at a position: the entries under one tile, a page of records, or one file. Each record is checked by
 * itself, because others may change meanwhile.
 */
export function checkPage(check: Check, stores: ScrubStores, position: string): Promise<ScrubPage> {
  const from = positionInLog(position)
  return from === undefined ? checkRecords(check, stores, position) : checkLog(check, from)
}

/** Where to continue if a page cannot be read because of damage. */
export function positionBehind(position: string): string | undefined {
  const from = positionInLog(position)
  return from === undefined ? rangeAt(position)?.lt : `log/${from + TILE_WIDTH}`
}

/** The family of records that contains a key or follows it. `undefined` behind the last one. */
const rangeAt = (key: string) => KEY_RANGES.find(({ lt }) => key < lt)

async function checkLog(check: Check, from: number): Promise<ScrubPage> {
  if (from >= (await check.records.logSize())) return { next: '', checked: {} }
  const key = logKeys.tile(0, from / TILE_WIDTH)
  // The log may grow meanwhile, so head and tile are read from one snapshot, and before the entries.
  const [headEntry, tile] = await readAll(check.records, [logKeys.treeHead(), key])
  const head = check.decode('head', headEntry)
  const page = await checkLogPage(check, from)
  const sealed = page?.entries.slice(0, Math.max(0, (head?.size ?? 0) - from)).map(leafHash) ?? []
  if (head !== undefined && sealed[0] !== undefined) {
    const isRight = tile !== undefined && equalBytes(tile.value, buildTile(sealed))
    // A partial tile of leaves is not stored.
    check.expect(isRight || sealed.length < TILE_WIDTH, 'tile', key, "It is missing, or not that of the log's entries")
    await checkPath(check, head, { leafIndex: from, leafHash: sealed[0] })
  }
  return { next: `log/${from + TILE_WIDTH}`, checked: { log: page?.entries.length ?? 0 } }
}

/** The paths of all pages together contain every hash of the tiles above the first level. */
async function checkPath(
  check: Check,
  { size, root }: TreeHeadRecord,
  leaf: { readonly leafIndex: number; readonly leafHash: Uint8Array },
): Promise<void> {
  const name = `log/${leaf.leafIndex}`
  await check.guardAsync('tile', name, async () => {
    const claim = { ...leaf, treeSize: size, root: storedBytes(root, "The root of the tree's head") }
    await new LogReader(check.records).proveInclusion(claim)
  })
}

async function checkRecords(check: Check, stores: ScrubStores, from: string): Promise<ScrubPage> {
  const range = rangeAt(from)
  if (range === undefined) return { next: undefined, checked: {} }
  const { gte, lt } = range
  const hasFiles = isInRange(gte, keys.files())
  const limit = hasFiles ? 1 : PAGE_RECORDS
  const page: readonly Stored[] = await listEntries(check.records, { gte: from > gte ? from : gte, lt, limit })
  for (const entry of page) {
    if (hasFiles) await checkFile(check, stores, entry)
    else await checkEventIn(check, stores.origin, entry)
  }
  const last = page.at(-1)
  const next = last === undefined || page.length < limit ? lt : `${last.key}\0`
  return { next, checked: { records: page.length, ...(hasFiles && { blobs: page.length }) } }
}

async function checkFile(
  check: Check,
  { blobs, onFileBytes }: ScrubStores,
  entry: StoredRecord<FileRecord | DeletedFileRecord>,
): Promise<void> {
  const file = check.decode('file', entry)
  if (file !== undefined) await checkBytes(check, blobs, file, onFileBytes)
}

/** Computes the txId of the event in a record again. The record itself was checked by its CRC-32. */
async function checkEventIn(check: Check, origin: string, entry: Stored): Promise<void> {
  const { key } = entry
  if (isInRange(key, keys.evidences())) {
    const stored: StoredRecord<EvidenceRecord> = entry
    const evidence = check.decode('evidence', stored)
    const event = evidence && check.guard('event', key, () => firstEventOf(evidence))
    if (evidence && event) checkOpening(check, { origin, evidence, key, event })
  } else if (isInRange(key, keys.laterEvents())) {
    const [, company = '', id = ''] = partsOfKey(key)
    const evidence = await check.read('evidence', keys.evidence(company, id))
    const stored: StoredRecord<EventRecord> = entry
    const event = check.decode('event', stored)
    if (evidence && event) checkOpening(check, { origin, evidence, key, event })
  }
}

import type { BlobStore, Stored } from '../../ports/index.ts'
import { TILE_WIDTH } from '../../log/tree/tile.ts'
import type { Check } from './check.ts'
import { checkEvidences, checkLaterEvents } from './evidences.ts'
import { FAMILIES, type Family } from './families.ts'
import { checkBytes } from './file-bytes.ts'
import { PAGE_RECORDS } from './pages.ts'
import { checkLogPage, checkPathOf } from './log-page.ts'
import type { WholeStore } from './whole-store.ts'
import { keys, type StoredRecord } from '../../store/keys.ts'
import { listEntries } from '../../store/read.ts'
import type { DeletedFileRecord, FileRecord } from '../../store/records.ts'

/**
 * The walk through a store: the log, then every record in the order of the keys, in pages. Between two pages nothing is
 * open, so it can pause there, and continue at a position after a restart.
 */

/** The position where the walk begins. After the log, a position is the first key that was not read. */
export const WALK_START = 'log/0'

/** What a walk compares with. */
export interface Walk {
  /** The log's origin; `undefined` if it cannot be read: then no event can be computed. */
  readonly origin: string | undefined
  /** Without it, only the bytes of small files are read, which are in the records. */
  readonly blobs?: BlobStore | undefined
  /**
   * How the records belong together, of a store that does not change meanwhile. Without it each record is checked by
   * itself, so that others may write to the store.
   */
  readonly whole?: WholeStore
  /** Called after each part of a file. It may wait. */
  readonly onFileBytes?: (bytes: number) => Promise<void>
  /** Files in one page. Default: as many as other records. */
  readonly pageFiles?: number
}

/**
 * Checks the page at a position: the entries under one tile, or some records of one family.
 *
 * @returns where the next page begins; `undefined` if this was the last one
 */
export async function checkPage(check: Check, walk: Walk, position: string): Promise<string | undefined> {
  const from = positionInLog(position)
  if (from !== undefined) return (await checkLogAt(check, walk, from)) ? `log/${from + TILE_WIDTH}` : ''
  const family = FAMILIES.find(({ range: { lt } }) => position < lt) ?? END
  const isOfFiles = family.range.gte === keys.files().gte
  const limit = isOfFiles ? (walk.pageFiles ?? PAGE_RECORDS) : PAGE_RECORDS
  const page = await listEntries<unknown>(check.records, { gte: position, lt: family.range.lt, limit })
  await check.runPart(position, () => checkRecords(check, walk, family, page))
  const last = page.at(-1)
  if (last !== undefined && page.length === limit) return `${last.key}\0`
  return family === END ? undefined : family.range.lt
}

/** Where to continue if a page cannot be read because of damage. */
export function positionBehind(position: string): string | undefined {
  const from = positionInLog(position)
  return from === undefined ? FAMILIES.find(({ range: { lt } }) => position < lt)?.range.lt : `log/${from + TILE_WIDTH}`
}

/** Behind the last family. */
const END: Family = { kind: 'unknown', range: { gte: '\x7f', lt: '\x7f' }, referencesOf: () => [] }

/** The position in the log of a position in the walk. Pages begin where tiles do. */
function positionInLog(position: string): number | undefined {
  const digits = /^log\/(\d+)$/.exec(position)?.[1]
  return digits === undefined ? undefined : Math.floor(Number(digits) / TILE_WIDTH) * TILE_WIDTH
}

/** Returns false behind the end of the log. */
async function checkLogAt(check: Check, { whole }: Walk, from: number): Promise<boolean> {
  if (from >= (await check.records.logSize())) return false
  const page = await checkLogPage(check, from)
  if (whole === undefined) await checkPathOf(check, page)
  else await whole.addLog(page)
  check.progress('log', page.entries?.length ?? 0)
  return true
}

/** `page`: of the family, behind those that are before it and belong to none. */
async function checkRecords(check: Check, walk: Walk, family: Family, page: readonly Stored[]): Promise<void> {
  const begin = page.findIndex(({ key }) => key >= family.range.gte)
  const records = begin < 0 ? [] : page.slice(begin)
  for (const { key } of page.slice(0, page.length - records.length))
    check.report('unknown', key, 'No part of the registry keeps such a record')
  await walk.whole?.addRecords(family, records)
  const stage = EVENTS.has(family.range.gte) ? 'evidences' : 'indexes'
  await OWN_CHECKS.get(family.range.gte)?.(check, walk, records)
  check.progress(stage, records.length)
}

type PageCheck = (check: Check, walk: Walk, page: readonly Stored[]) => Promise<void>

const EVENTS: ReadonlySet<string> = new Set([keys.evidences().gte, keys.laterEvents().gte])

/** What is checked of records by themselves, besides their CRC-32. */
const OWN_CHECKS = new Map<string, PageCheck>([
  [keys.evidences().gte, checkEvidences],
  [keys.laterEvents().gte, checkLaterEvents],
  [keys.files().gte, checkFiles],
])

async function checkFiles(
  check: Check,
  walk: Walk,
  page: readonly StoredRecord<FileRecord | DeletedFileRecord>[],
): Promise<void> {
  for (const entry of page) {
    const file = check.decode('file', entry)
    if (file !== undefined && (await checkBytes(check, walk, file))) check.progress('blobs', 1)
  }
}

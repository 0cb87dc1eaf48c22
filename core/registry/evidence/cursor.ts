import { encodeUtf8, sha256, toHex } from '../../bytes.ts'
import type { EvidenceQuery } from '../../api/evidence-lists.ts'
import type { CompanyId } from '../../api/ids.ts'
import { foldCase } from '../../store/evidence-index.ts'
import { invalidInput } from '../validation.ts'

/** The indexes that a filtered or sorted list can be read from. */
const INDEX_NAMES = ['externalId', 'owner', 'stolen', 'listing', 'updated'] as const
export type IndexName = (typeof INDEX_NAMES)[number]

/** Where a page of a filtered or sorted list ended. */
export interface Cursor {
  /** The index that the list is read from. */
  readonly index: IndexName
  /** Position in that index: `TIME/ID` in the one of the update times, otherwise the id of an evidence. */
  readonly position: string
  /** As of the first page. */
  readonly count: number
  readonly countIsMore: boolean
}

const POSITION = /^(?:[0-9a-f]{14}\/)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const HASH_LENGTH = 16

/**
 * The opaque text of a cursor. It is not secret, and a forged one reveals nothing: it only chooses where in the
 * caller's own list to begin.
 */
export function encodeCursor({ index, position, count, countIsMore }: Cursor, query: string): string {
  return Buffer.from(JSON.stringify([query, index, position, count, countIsMore]), 'utf8').toString('base64url')
}

/** The inverse of `encodeCursor`. Throws `VALIDATION_ERROR` for any other text, and for a cursor of another query. */
export function decodeCursor(text: string, query: string): Cursor {
  const cursor = cursorOf(parseJson(Buffer.from(text, 'base64url').toString('utf8')))
  if (cursor === undefined || encodeCursor(cursor, query) !== text)
    throw invalidInput('cursor', 'must be what the previous page returned for the same filters and the same order')
  return cursor
}

function cursorOf(value: unknown): Cursor | undefined {
  if (!Array.isArray(value)) return undefined
  const [, indexName, position, count, countIsMore]: readonly unknown[] = value
  const index = INDEX_NAMES.find((name) => name === indexName)
  if (index === undefined || typeof position !== 'string' || !POSITION.test(position)) return undefined
  if (position.includes('/') !== (index === 'updated')) return undefined
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return undefined
  return typeof countIsMore === 'boolean' ? { index, position, count, countIsMore } : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Identifies what a query matches and in which order, so that a cursor works only with the query it was made for. */
export function hashQuery(companyId: CompanyId, query: EvidenceQuery): string {
  const { categoryId, subcategoryId, externalIdPrefix, owner, status, createdFrom, createdTo, sort } = query
  const times = [createdFrom, createdTo].map((time) => time?.getTime())
  const parts = [companyId, categoryId, subcategoryId, externalIdPrefix, owner && foldCase(owner), status, sort]
  return toHex(sha256(encodeUtf8(JSON.stringify([parts, times])))).slice(0, HASH_LENGTH)
}

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { EvidenceRegistryError, type Client, type EvidenceInput, type RequestOptions } from '../client/index.ts'
import { isCreatedFrom } from './created-from.ts'

/** Limits of the endpoint: rows, and bytes without what is around the rows. */
const [MAX_ROWS, MAX_BYTES] = [1_000, 4 * 1024 * 1024 - 64]

/** A row that can be created. */
export interface ImportRow {
  readonly number: number
  readonly categoryId: string
  readonly subcategoryId: string
  readonly evidence: EvidenceInput
}

type Rows = AsyncIterable<ImportRow> | Iterable<ImportRow>
type Group = readonly ImportRow[]

/** Where rows go, and how it is told what becomes of them. */
export interface SendOptions {
  readonly client: Client
  /** `newestId` before the import: a request that created older evidences belongs to an earlier one. */
  readonly since: string
  readonly request?: RequestOptions
  /** `present`: an earlier import created them. */
  readonly onDone: (count: number, outcome: 'created' | 'present') => void
  readonly onRefused: (row: ImportRow, error: EvidenceRegistryError) => void
}

/** The id of the newest evidence of a company, empty if it has none. Ids ascend. */
export const newestId = async (client: Client): Promise<string> =>
  (await client.listEvidences({ len: 1 })).dts[0]?.id ?? ''

/**
 * Creates evidences in groups of one subcategory, two requests at a time. The idempotency key of a group is the hash of
 * its rows, so the same rows can be sent again after an interruption. A row that exists with the same values is
 * present, also if it was changed later.
 *
 * @throws the error of a request that is not about its rows. Rows that follow may have been created, too
 */
export async function sendRows(rows: Rows, options: SendOptions): Promise<void> {
  const groups = groupsOf(rows)
  const work = async (): Promise<void> => {
    for await (const group of groups) await sendGroup(group, options)
  }
  await Promise.all([work(), work()])
}

/** The rows of each subcategory, in their order, as many together as a request may have. */
async function* groupsOf(rows: Rows): AsyncGenerator<Group> {
  const open = new Map<string, { rows: ImportRow[]; bytes: number }>()
  for await (const row of rows) {
    const bytes = utf8ToBytes(JSON.stringify(row.evidence)).length + 1
    const group = open.get(row.subcategoryId)
    if (group !== undefined && group.rows.length < MAX_ROWS && group.bytes + bytes <= MAX_BYTES) {
      group.rows.push(row)
      group.bytes += bytes
    } else {
      open.set(row.subcategoryId, { rows: [row], bytes })
      if (group !== undefined) yield group.rows
    }
  }
  for (const group of open.values()) yield group.rows
}

/** Sends a group. If it is refused, finds out which of its rows are present or wrong, and sends the others. */
async function sendGroup(group: Group, options: SendOptions): Promise<void> {
  const { client, since, request, onDone, onRefused } = options
  const [first] = group
  if (first === undefined) return
  const { categoryId, subcategoryId } = first
  const body = { categoryId, subcategoryId, evidences: group.map(({ evidence }) => evidence) }
  const idempotencyKey = bytesToHex(sha256(utf8ToBytes(JSON.stringify(body))))
  try {
    const { ids } = await client.createEvidences(body, { ...request, idempotencyKey })
    onDone(group.length, (ids[0] ?? '') > since ? 'created' : 'present')
  } catch (error) {
    if (!isAboutRows(error)) throw error
    const left = error.code === 'EXTERNAL_ID_EXISTS' ? await withoutKnown(group, error, options) : group
    const middle = group.length >> 1
    // What is wrong with a category holds for all rows of the group.
    if (left.length < group.length) await sendGroup(left, options)
    else if (middle === 0 || error.code.includes('CATEGORY')) for (const row of group) onRefused(row, error)
    else for (const half of [group.slice(0, middle), group.slice(middle)]) await sendGroup(half, options)
  }
}

/** Whether an error says that rows are wrong. Other rows can still be created. */
const isAboutRows = (error: unknown): error is EvidenceRegistryError =>
  error instanceof EvidenceRegistryError && [400, 404, 409, 413].includes(error.status)

const inUse = (id: string): string => `externalId ${JSON.stringify(id)} is in use for an evidence with other values`

/** The rows whose external id is free. The others are present, or refused with the code of `error`. */
async function withoutKnown(group: Group, error: EvidenceRegistryError, options: SendOptions): Promise<Group> {
  const free: ImportRow[] = []
  for (const row of group) {
    const isPresent = await lookUp(row, options)
    if (isPresent === undefined) free.push(row)
    else if (isPresent) options.onDone(1, 'present')
    else options.onRefused(row, new EvidenceRegistryError(inUse(row.evidence.externalId), error))
  }
  return free
}

/** Whether the evidence with the external id of a row was created from it; `undefined` if there is none. */
async function lookUp({ evidence, ...path }: ImportRow, { client, request }: SendOptions) {
  const query = { externalId: evidence.externalId, len: 1, disclose: true }
  const page = await client.getEvidence(query, request).catch((error: unknown) => {
    if (error instanceof EvidenceRegistryError && error.code === 'EVIDENCE_NOT_FOUND') return undefined
    throw error
  })
  const disclosure = page?.events[0]?.disclosure
  return page && disclosure !== undefined && isCreatedFrom(disclosure, evidence, path)
}

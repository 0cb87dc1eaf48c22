import type { Entry, Key } from '../ports/index.ts'
import { keys } from './keys.ts'
import { corruptRecord, decodeRecord, encodeRecord } from './record-codec.ts'
import type { EvidenceRecord } from './records.ts'

/** What a list shows of an evidence, and what searches compare. The entry in the list of its company has it. */
export interface ListedEvidence extends Pick<
  EvidenceRecord,
  | 'id'
  | 'company'
  | 'externalId'
  | 'categoryId'
  | 'subcategoryId'
  | 'createdAt'
  | 'name'
  | 'stolen'
  | 'txId'
  | 'lastTxId'
  | 'lastAt'
  | 'changes'
> {
  readonly owner?: string | undefined
  readonly summary?: string | undefined
  readonly image?: EvidenceRecord['image'] | undefined
}

/**
 * Its stored form: the values in this order, without the names, which would take as much room again in each of them.
 * A missing value is `null`. So is `lastTxId` if it equals `txId`.
 */
type StoredValues = readonly [
  id: ListedEvidence['id'],
  company: ListedEvidence['company'],
  externalId: string,
  categoryId: ListedEvidence['categoryId'],
  subcategoryId: ListedEvidence['subcategoryId'],
  createdAt: number,
  name: string,
  stolen: boolean,
  owner: string | null,
  summary: string | null,
  image: NonNullable<ListedEvidence['image']> | null,
  txId: ListedEvidence['txId'],
  lastTxId: ListedEvidence['txId'] | null,
  lastAt: number,
  creates: number,
  updates: number,
  transfers: number,
]

/** The key of the entry. */
export const listedKey = (company: string, id: string): Key => keys.evidenceIn(['company', company], id)

/** The bytes of the entry. They are always the same for the same evidence, so that fsck can compare them. */
export const encodeListed = (evidence: EvidenceRecord): Uint8Array =>
  encodeRecord([
    evidence.id,
    evidence.company,
    evidence.externalId,
    evidence.categoryId,
    evidence.subcategoryId,
    evidence.createdAt,
    evidence.name,
    evidence.stolen,
    evidence.owner ?? null,
    evidence.summary ?? null,
    evidence.image ?? null,
    evidence.txId,
    evidence.lastTxId === evidence.txId ? null : evidence.lastTxId,
    evidence.lastAt,
    evidence.changes.create,
    evidence.changes.update,
    evidence.changes.transfer,
  ] satisfies StoredValues)

/** The inverse of `encodeListed`. Throws `CORRUPT` if the bytes are not a JSON array. */
export function decodeListed(entry: Entry): ListedEvidence {
  const values = decodeRecord<StoredValues>(entry)
  if (!Array.isArray(values)) throw corruptRecord(entry, 'not a JSON array')
  return {
    id: values[0],
    company: values[1],
    externalId: values[2],
    categoryId: values[3],
    subcategoryId: values[4],
    createdAt: values[5],
    name: values[6],
    stolen: values[7],
    owner: values[8] ?? undefined,
    summary: values[9] ?? undefined,
    image: values[10] ?? undefined,
    txId: values[11],
    lastTxId: values[12] ?? values[11],
    lastAt: values[13],
    changes: { create: values[14], update: values[15], transfer: values[16] },
  }
}

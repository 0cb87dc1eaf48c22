import { timingSafeEqual } from 'node:crypto'
import { encodeUtf8, sha256HexOfText } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import { keys, lastPartOfKey } from '../../store/keys.ts'
import { listCounted } from '../../store/counted.ts'
import { readCount } from '../../store/counter.ts'
import { type Read, listEntries, listedRecords, readEntry } from '../../store/read.ts'
import type { EvidenceRecord, ShareRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'

export const shareNotFound = (): RegistryError =>
  new RegistryError('SHARE_NOT_FOUND', 'There is no such link: it was ended, has expired, or is not complete')

/** Of no secret. */
const NO_HASH = '0'.repeat(64)

/** Whether this is the secret of the share. Takes the same time for a wrong secret, and if there is no share. */
export const hasSecret = (share: ShareRecord | undefined, secret: string): boolean =>
  timingSafeEqual(encodeUtf8(sha256HexOfText(secret)), encodeUtf8(share?.secretHash ?? NO_HASH))

/** Whether it has neither been ended nor expired. */
export const isOpenAt = ({ endedAt, expiresAt = Infinity }: ShareRecord, now: number): boolean =>
  endedAt === undefined && now < expiresAt

/** The shares of an evidence, oldest first. */
export async function sharesOf(
  { records }: Context,
  { company, id }: EvidenceRecord,
): Promise<readonly Read<ShareRecord>[]> {
  const { entries } = await listCounted({
    name: 'The list of shares',
    count: () => readCount(records, [keys.shareCount(company, id)]),
    read: () => listEntries(records, keys.sharesOf(company, id)),
  })
  const found = await listedRecords(records, entries, (listed) => keys.share(lastPartOfKey(listed)))
  return found.map((entry) => readEntry(entry))
}

import type { Share, Shares } from '../../api/shares.ts'
import { keys } from '../../store/keys.ts'
import { decodeRecord } from '../../store/codec.ts'
import { readAll } from '../../store/read.ts'
import type { ShareRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { readEvidence } from '../evidence/find.ts'
import type { LastUses } from '../last-uses.ts'
import { enterCompany } from '../permissions.ts'
import { sharesOf } from './stored-share.ts'

/** The shares of an evidence, newest first, with their last uses, which may not be written yet. */
export const listShares =
  (context: Context, uses: LastUses): Shares['list'] =>
  async (scope, externalId) => {
    const entered = await enterCompany(context, scope, 'R')
    const { record: evidence } = await readEvidence(context, entered, externalId)
    const shares = await sharesOf(context, evidence)
    const stored = await readAll(
      context.records,
      shares.map(({ record }) => keys.shareUse(evidence.company, record.id)),
    )
    const usedAt = ({ id }: ShareRecord, i: number) => Math.max(decodeRecord(stored[i])?.at ?? 0, uses.noted(id) ?? 0)
    return shares.map(({ record }, i) => describe(record, usedAt(record, i))).reverse()
  }

/** `lastUsedAt` is 0 if it was never used. */
function describe(
  { id, kind, fields, files, version, actor, createdAt, expiresAt, endedAt }: ShareRecord,
  lastUsedAt: number,
): Share {
  return {
    id,
    kind,
    fields,
    files,
    version,
    actor,
    createdAt: new Date(createdAt),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
    ...(endedAt !== undefined && { endedAt: new Date(endedAt) }),
    ...(lastUsedAt > 0 && { lastUsedAt: new Date(lastUsedAt) }),
  }
}

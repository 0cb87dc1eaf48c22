import { randomBytes } from 'node:crypto'
import type { Shares } from '../../api/shares.ts'
import type { FileId, ShareId } from '../../api/scope.ts'
import { sha256HexOfText } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import { DAY_MS } from '../../ids.ts'
import type { Check } from '../../ports/index.ts'
import { NewShare, TEXTS } from '../../schemas/share-inputs.ts'
import { uuidInput, validate } from '../../schemas/validation.ts'
import { shareEntries } from '../../store/derived.ts'
import { putRecord } from '../../store/entries.ts'
import { keys } from '../../store/keys.ts'
import type { Read } from '../../store/read.ts'
import type { EvidenceRecord, ShareRecord } from '../../store/records.ts'
import { auditChanges } from '../company/audit.ts'
import { futureTime } from '../future-time.ts'
import type { Context } from '../context.ts'
import { readEvidence } from '../evidence/find.ts'
import { type AuthorizedScope, enterCompany, permits } from '../permissions.ts'
import { readFileOf } from '../proof/file.ts'
import type { Decision } from '../write.ts'
import { isOpenAt, sharesOf } from './stored-share.ts'

const MAX_OPEN = 100
/** Of the ended ones the newest are kept for the list. */
const MAX_ENDED = 100
/** Of a share that was made with level `R`. */
const MAX_LIFETIME_MS = 30 * DAY_MS

/** Makes a share of an evidence as it is now. Holds while the evidence is the same and gets no other share. */
export const createShare =
  (context: Context): Shares['create'] =>
  async (scope, externalId, input, options = {}) => {
    const entered = await enterCompany(context, scope, 'R')
    validate(NewShare, input)
    // Nested, because its files are ids and not what `stage` returned.
    const call = { scope: entered, options, operation: 'createShare', ids: [externalId], input: { input } } as const
    const { expiresAt, ...made } = await context.write(call, async ({ now }) => {
      const { record: evidence, check } = await readEvidence(context, entered, externalId)
      const end = endOf(entered, input, now)
      const secret = randomBytes(16).toString('base64url')
      const share: ShareRecord = {
        id: context.ids.next<ShareId>(),
        kind: input.kind ?? 'link',
        company: evidence.company,
        evidence: evidence.id,
        secretHash: sha256HexOfText(secret),
        fields: [...new Set(input.fields.flatMap((name) => (name === 'texts' ? TEXTS : [name])))],
        files: await filesOf(context, evidence, input),
        version: evidence.lastVersion,
        actor: entered.actor,
        createdAt: now,
        ...(end !== undefined && { expiresAt: end }),
      }
      return decideCreate(context, share, { evidence: check, ...(await countedShares(context, evidence)), secret })
    })
    return { ...made, ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }) }
  }

/** The shares of an evidence, and the check that it gets no other one. */
async function countedShares(context: Context, evidence: EvidenceRecord): Promise<Pick<Made, 'check' | 'shares'>> {
  const key = keys.shareCount(evidence.company, evidence.id)
  const [count] = await context.records.get([key])
  return { check: { key, version: count?.version ?? null }, shares: await sharesOf(context, evidence) }
}

/** When the share ends. Throws `FORBIDDEN` if the level is too low for it, `VALIDATION_ERROR` for the past. */
function endOf({ principal }: AuthorizedScope, { expiresAt, kind }: NewShare, now: number): number | undefined {
  const isLimited = !permits(principal, 'U')
  const end = expiresAt === undefined ? (isLimited ? now + MAX_LIFETIME_MS : undefined) : futureTime(expiresAt, now)
  if (isLimited && (kind === 'certificate' || end === undefined || end > now + MAX_LIFETIME_MS))
    throw new RegistryError('FORBIDDEN', 'Level R makes links of at most 30 days: others require level U')
  return end
}

/** The ids of the files. Throws `FILE_NOT_FOUND` unless the evidence has each of them now. */
async function filesOf(context: Context, evidence: EvidenceRecord, { files }: NewShare): Promise<ShareRecord['files']> {
  if (files === 'all') return 'all'
  const ids = files.map((named) => (named === 'image' ? evidence.image?.id : uuidInput(named)))
  const found = new Set<FileId>()
  for (const id of ids) {
    const file = id === undefined ? undefined : await readFileOf(context, evidence, id)
    if (file === undefined || 'deletion' in file)
      throw new RegistryError('FILE_NOT_FOUND', `This evidence has no ${id === undefined ? 'image' : `file ${id}`} now`)
    found.add(file.id)
  }
  return [...found]
}

interface Made {
  /** The evidence, because an erasure removes what names its external id. */
  readonly evidence: Check
  readonly check: Check
  /** Those that the evidence has. */
  readonly shares: readonly Read<ShareRecord>[]
  readonly secret: string
}

/** Throws `TOO_MANY_SHARES`. Removes the oldest ended shares beyond the limit. */
function decideCreate(
  { ids }: Context,
  share: ShareRecord,
  { evidence: asRead, check, shares, secret }: Made,
): Decision<{ id: ShareId; secret?: string; expiresAt?: number }> {
  const { id, company, evidence, actor, createdAt: now, expiresAt } = share
  const open = shares.filter(({ record }) => isOpenAt(record, now))
  if (open.length >= MAX_OPEN)
    throw new RegistryError(
      'TOO_MANY_SHARES',
      `An evidence has at most ${MAX_OPEN} open links: end some that are no longer needed`,
    )
  const ended = shares.filter((each) => !open.includes(each))
  const removed = ended.slice(0, Math.max(0, ended.length - MAX_ENDED))
  const audit = auditChanges(company, [
    { id: ids.next(), at: now, type: 'shared', actor, evidenceId: evidence, shareId: id },
  ])
  const result = { id, ...(expiresAt !== undefined && { expiresAt }) }
  return {
    commit: {
      checks: [asRead, check],
      writes: [
        putRecord(keys.share(id), share),
        ...shareEntries(share),
        ...removed.flatMap(({ record }) =>
          [keys.share(record.id), keys.shareOf(company, evidence, record.id), keys.shareUse(company, record.id)].map(
            (key) => ({ key, value: null }),
          ),
        ),
        ...audit.writes,
      ],
      adds: [{ key: keys.shareCount(company, evidence), delta: 1 - removed.length }, ...audit.adds],
    },
    result: { ...result, secret },
    // The secret is returned only once.
    replayed: result,
  }
}

import { concatBytes, toHex } from '../../bytes.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import { actorOf } from '../permissions.ts'
import type { Check, Commit, Key, Write } from '../../ports.ts'
import { randomBytes } from '../../random.ts'
import type { EvidenceFiles, Scope, StagedFile } from '../../api/registry.ts'
import type { EvidenceInput } from '../schemas.ts'
import { consume } from '../../store/blob-lifecycle.ts'
import { put, type Context } from '../context.ts'
import { committedFiles, eventWrites, makeEvent } from '../event/event.ts'
import { fileWrites } from '../file/files.ts'
import type { CategoryRef } from '../category/category-cache.ts'
import type { EvidenceRecord } from '../../store/records.ts'

interface CreateRequest {
  readonly evidences: readonly EvidenceInput[]
  /** All of the first; only where it is one. */
  readonly files: EvidenceFiles
  readonly now: number
  /** What the commit's checks would show is not looked up before: nearly all external ids are new. */
  readonly isFirst: boolean
}

export interface Created {
  readonly id: string
  readonly txId: string
  readonly version: number
}

/** The image first, then the files. */
export const stagedOf = ({ image, files = [] }: EvidenceFiles): readonly StagedFile[] =>
  image === undefined ? files : [image, ...files]

/**
 * What creating these evidences at this place records, in one atomic step. Where an external id is in use the commit conflicts, and
 * the next try throws `EXTERNAL_ID_EXISTS`.
 */
export async function decideCreate(
  context: Context,
  scope: Scope,
  place: CategoryRef,
  { evidences, files, now, isFirst }: CreateRequest,
): Promise<{ readonly commit: Commit; readonly created: readonly Created[] }> {
  context.assertClock()
  const staged = stagedOf(files)
  const nameKeys = evidences.map(({ externalId }) => keys.externalId(externalId, scope.companyId))
  if (!isFirst) await assertFree(context, evidences, nameKeys)
  const made = evidences.map((input) => newEvidence(context, scope, place, input, { image: files.image, staged, now }))
  const { companyId } = scope
  const scopes = [
    ['company', companyId],
    ['category', place.category.id],
    ['subcategory', place.subcategory.id],
  ] as const
  const commit: Commit = {
    checks: [...nameKeys.map((key): Check => ({ key, version: null })), ...place.checks, ...consume(staged).checks],
    writes: [
      ...place.writes,
      ...made.flatMap(({ evidence, writes }, i): readonly Write[] => [
        put(nameKeys[i] as string, { id: evidence.id }),
        put(keys.evidence(evidence.id), evidence),
        ...scopes.map(([kind, id]) => ({ key: keys.evidenceIn(kind, id, evidence.id), value: new Uint8Array() })),
        ...writes,
        ...fileWrites(staged, { company: companyId, ownerKind: 'evidence', ownerId: evidence.id, version: 1 }),
      ]),
      ...consume(staged).writes,
    ],
    adds: [...place.adds, ...scopes.map(([kind, id]) => ({ key: keys.evidenceCount(kind, id), delta: made.length }))],
    append: concatBytes(...made.map(({ txId }) => txId)),
  }
  return { commit, created: made.map(({ evidence }) => ({ id: evidence.id, txId: evidence.txId, version: 1 })) }
}

async function assertFree(
  context: Context,
  evidences: readonly EvidenceInput[],
  nameKeys: readonly Key[],
): Promise<void> {
  const taken = (await context.records.get(nameKeys)).findIndex((entry) => entry !== undefined)
  if (taken !== -1)
    throw new RegistryError(
      'EXTERNAL_ID_EXISTS',
      `externalId: ${JSON.stringify(evidences[taken]?.externalId)} is in use in this company`,
    )
}

/** What a text or object field sets: nothing, where it was left out or is empty. */
const set = <N extends string, T>(name: N, value: T | undefined): { [K in N]?: T } =>
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
    ? {}
    : ({ [name]: value } as { [K in N]?: T })

interface CreateFiles {
  readonly image: StagedFile | undefined
  readonly staged: readonly StagedFile[]
  readonly now: number
}

function newEvidence(
  context: Context,
  scope: Scope,
  place: CategoryRef,
  input: EvidenceInput,
  { image, staged, now }: CreateFiles,
) {
  const id = context.ids.next()
  const slotKey = toHex(randomBytes(32))
  const stated = {
    ...set('description', input.description),
    ...set('summary', input.summary),
    ...set('owner', input.owner),
    ...set('meta', input.meta as Record<string, Json> | undefined),
  }
  const event = makeEvent({
    origin: context.origin,
    evidenceId: id,
    slotKey,
    version: 1,
    time: now,
    first: null,
    prev: null,
    type: 'create',
    ownerName: stated.owner ?? '',
    fields: {
      action: { type: 'create' },
      actor: actorOf(scope.principal),
      company: scope.companyId,
      evidence: id,
      externalId: input.externalId,
      categoryId: place.category.id,
      subcategoryId: place.subcategory.id,
      name: input.name,
      slotKey,
      ...stated,
      ...(image !== undefined && { imageId: image.id }),
    },
    files: committedFiles(staged),
  })
  const evidence: EvidenceRecord = {
    id,
    company: scope.companyId,
    externalId: input.externalId,
    categoryId: place.category.id,
    subcategoryId: place.subcategory.id,
    createdAt: now,
    name: input.name,
    stolen: false,
    ...stated,
    ...(image !== undefined && { image: { id: image.id, mimeType: image.mimeType } }),
    txId: event.record.txId,
    lastVersion: 1,
    lastTxId: event.record.txId,
    lastAt: now,
    changes: { create: 1, update: 0, transfer: 0 },
    slotKey,
    fileCount: staged.length,
  }
  return { evidence, txId: event.txId, writes: eventWrites(id, event) }
}

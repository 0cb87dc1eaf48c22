import type { ErasureOutcome } from '../../api/erasures.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { ErasureId, FileId } from '../../api/scope.ts'
import { toHex } from '../../bytes.ts'
import { erasureOpening, receiptHash, receiptText } from '../../commitment/receipt.ts'
import { RegistryError } from '../../errors.ts'
import { appendControl } from '../../log/payload.ts'
import { ErasureInput } from '../../schemas/erasure-inputs.ts'
import { invalidInput, uuidInput, validate } from '../../schemas/validation.ts'
import { destroy } from '../../store/blob-lifecycle.ts'
import { erasureEntries } from '../../store/derived.ts'
import { derivedWrites, putRecord } from '../../store/entries.ts'
import { evidenceEntries, firstEventOf, putEvent, putEvidence, readEvents } from '../../store/evidence.ts'
import { type KeyedHash, keys, laterEventKey } from '../../store/keys.ts'
import type { Read } from '../../store/read.ts'
import type { DeletedFileRecord, ErasureRecord, EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { newSecret, txIdOfEntry } from '../event/make.ts'
import { readEvidence } from '../evidence/find.ts'
import { countFiles, removeFile } from '../file/stored-file.ts'
import { enterCompany } from '../permissions.ts'
import { assertVersion, type CommitPart, type Decision } from '../write.ts'
import { erasedParts } from './list.ts'
import { placeOf } from './places.ts'
import { type ErasurePlan, type Events, partsAskedFor, planErasure } from './plan.ts'

/**
 * Erases fields, files or the content of an evidence, in one commit with the receipt. It holds while the evidence is as
 * it was read: every change of an event or a file also writes the evidence, so its check covers all of them.
 */
export const eraseEvidence =
  (context: Context): Evidences['erase'] =>
  async (scope, externalId, input, options = {}) => {
    const entered = await enterCompany(context, scope, 'A')
    const request = erasureOf(input)
    const outcome = await context.write<ErasureOutcome>(undefined, async (attempt) => {
      const evidence = await readEvidence(context, entered, externalId)
      const { record } = evidence
      assertVersion(options, record.lastVersion, 'the evidence')
      if (attempt.conflicts.includes(keys.externalId(record.company, record.id)))
        throw new RegistryError('EXTERNAL_ID_EXISTS', `Another evidence has ${record.id} as its external id`)
      const events = await allEvents(context, record)
      const plan = planErasure(record, events, partsAskedFor(request, record.id, events), attempt.now)
      if (plan.erased.length === 0 || request.dryRun === true)
        return { commit: {}, result: { erased: erasedParts(plan.erased), disk: 'done' } }
      const { reason, note } = request
      const made = { at: attempt.now, by: entered.actor, reason, ...(note !== undefined && { note }) }
      return decideErasure(context, { evidence, plan }, made)
    })
    if (request.dryRun === true) return outcome
    context.erasures.request()
    for (const { file } of outcome.erased) if (file !== undefined) await destroy(context, file, scope.logFields)
    return outcome
  }

/** All events of an evidence. */
export async function allEvents({ records }: Pick<Context, 'records'>, evidence: EvidenceRecord): Promise<Events> {
  const later = Array.from({ length: evidence.lastVersion - 1 }, (_, i) => i + 2)
  return [firstEventOf(evidence), ...(await readEvents(records, evidence, later))]
}

/** Throws `VALIDATION_ERROR`. */
function erasureOf(input: ErasureInput): ErasureInput {
  const { files, ...request } = validate(ErasureInput, input)
  const { fields, content, versions } = request
  if ([fields, files, content].filter((part) => part !== undefined).length !== 1)
    throw new RegistryError('VALIDATION_ERROR', 'Exactly one of `fields`, `files` and `content` is required')
  if (versions !== undefined && fields === undefined) throw invalidInput('versions', 'requires `fields`')
  return { ...request, ...(files && { files: files.map(uuidInput) }) }
}

/** An evidence, and what is erased of it. */
export interface Changed {
  readonly evidence: Read<EvidenceRecord>
  readonly plan: ErasurePlan
}

/** The commit that erases what the plan says. Its record check covers every event and file of the evidence. */
export function decideErasure(
  { ids, records, erasures, origin, hash }: Context,
  { evidence: { record: before, check }, plan }: Changed,
  made: Pick<ErasureRecord, 'at' | 'by' | 'reason' | 'note'>,
): Decision<ErasureOutcome> {
  const { evidence, erased } = plan
  const { company, id, externalId } = evidence
  const { at } = made
  const text = receiptText({ ...made, erased, log: origin, time: at })
  const salt = newSecret()
  const append = appendControl(erasureOpening(receiptHash(salt, text)))
  const txId = txIdOfEntry(append.entry)
  const { writes: changes, adds } = erasureWrites(before, plan, { at, hash })
  const record: ErasureRecord = {
    ...made,
    id: ids.next<ErasureId>(),
    evidence: id,
    salt: toHex(salt),
    text,
    txId,
    erased,
  }
  const commit = {
    checks: [
      check,
      ...(externalId === before.externalId ? [] : [{ key: keys.externalId(company, id), version: null }]),
    ],
    writes: [...changes, putRecord(keys.erasure(company, id, record.id), record), ...erasureEntries(company, record)],
    adds,
    append: [append],
  }
  const disk = records.eraser === null ? 'done' : 'pending'
  return {
    commit: erasures.include(commit, record.id, placeOf),
    result: { erased: erasedParts(erased), receipt: { txId }, disk },
  }
}

/** What an erasure changes: the evidence's record, its events and files, its entries in indexes, and the counters. */
export function erasureWrites(
  before: EvidenceRecord,
  { evidence, later, erased }: ErasurePlan,
  { at, hash }: { readonly at: number; readonly hash: KeyedHash },
): Pick<CommitPart, 'writes' | 'adds'> {
  const { company, id } = evidence
  const files = erased.flatMap((of) =>
    of.files.map((fileId): DeletedFileRecord => {
      // eslint-disable-next-line typescript/no-unsafe-type-assertion -- events contain ids of files
      return { id: fileId as FileId, company, ownerKind: 'evidence', ownerId: id, version: of.version, deletion: {} }
    }),
  )
  const writes = [
    putEvidence(evidence),
    ...derivedWrites(evidenceEntries(before, hash), evidenceEntries(evidence, hash)),
    ...later.map((event) => putEvent(laterEventKey(company, id, event.version), event)),
    ...files.flatMap((file) => removeFile(file, file.id, at, file)),
  ]
  return { writes, adds: countFiles({ company, ownerId: id }, -files.length) }
}

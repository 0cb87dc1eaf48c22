import { concatBytes } from '../../bytes.ts'
import { canonicalJson, type Json } from '../../commitment/canonical-json.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import { actorOf } from '../permissions.ts'
import type { Scope, StagedFile } from '../../api/registry.ts'
import { EvidenceUpdate } from '../schemas.ts'
import { metaText, validate } from '../validation.ts'
import { consume } from '../../store/blob-lifecycle.ts'
import { put, type Decision, type Read } from '../context.ts'
import { committedFiles, eventWrites, makeEvent, type MadeEvent } from '../event/event.ts'
import { fileWrites } from '../file/files.ts'
import type { EvidenceRecord } from '../../store/records.ts'

interface UpdateRequest {
  readonly origin: string
  readonly scope: Scope
  readonly found: Read<EvidenceRecord>
  readonly update: EvidenceUpdate
  readonly files: readonly StagedFile[]
  readonly now: number
}

/** One event of the up to three that an update records: what it sets beside the request's texts. */
interface Step {
  readonly type: 'update' | 'transfer'
  readonly updateType?: string
  readonly sets: Readonly<Record<string, Json>>
  readonly files: readonly StagedFile[]
}

/**
 * What an update of an evidence records, in one atomic step and in this order: the content event, the transfer, the
 * files. Pure: reads nothing, so that a conflict is decided anew without a new upload.
 */
export function decideUpdate({ origin, scope, found, update: input, files, now }: UpdateRequest): Decision<{
  events: { txId: string; version: number }[]
}> {
  const update = checked(input)
  const before = found.record
  const steps = stepsOf(before, update, files)
  const texts = textsOf(update)
  let state: EvidenceRecord = before
  const made: MadeEvent[] = []
  for (const step of steps) {
    state = applied(state, step)
    const { type, updateType, sets } = step
    const event = makeEvent({
      origin,
      evidenceId: before.id,
      slotKey: before.slotKey,
      version: before.lastVersion + made.length + 1,
      time: Math.max(now, before.lastAt),
      first: before.txId,
      prev: made.at(-1)?.record.txId ?? before.lastTxId,
      type,
      ...(updateType !== undefined && { updateType }),
      ownerName: state.owner ?? '',
      fields: {
        action: { type, ...(updateType !== undefined && { updateType }) },
        actor: actorOf(scope.principal),
        company: before.company,
        evidence: before.id,
        externalId: before.externalId,
        ...texts,
        ...sets,
      },
      files: committedFiles(step.files),
    })
    made.push(event)
    const changes = { ...state.changes, [type]: state.changes[type] + 1 }
    state = {
      ...state,
      changes,
      lastVersion: event.record.version,
      lastTxId: event.record.txId,
      lastAt: event.record.time,
    }
  }
  const owner = {
    company: before.company,
    ownerKind: 'evidence',
    ownerId: before.id,
    version: state.lastVersion,
  } as const
  return {
    commit: {
      checks: [found.check, ...consume(files).checks],
      writes: [
        put(keys.evidence(before.id), state),
        ...made.flatMap((event) => eventWrites(before.id, event)),
        // The files' event is the last one.
        ...fileWrites(files, owner),
        ...consume(files).writes,
      ],
      append: concatBytes(...made.map(({ txId }) => txId)),
    },
    answer: { events: made.map(({ record: { txId, version } }) => ({ txId, version })) },
  }
}

function checked(input: EvidenceUpdate): EvidenceUpdate {
  const update = validate(EvidenceUpdate, input)
  if (update.meta !== undefined) metaText(update.meta)
  if (update.stolen !== undefined && update.actionType !== 'stolen')
    throw new RegistryError('VALIDATION_ERROR', 'stolen goes with actionType stolen')
  return update
}

/** The texts that go on every event of the request, and the meta that it sent. */
function textsOf({
  updateActionDescription,
  updateActionPersona,
  eventDescription,
  meta,
}: EvidenceUpdate): Record<string, Json> {
  return {
    ...(isText(updateActionDescription) && { updateDescription: updateActionDescription }),
    ...(isText(updateActionPersona) && { personaName: updateActionPersona }),
    ...(isText(eventDescription) && { eventDescription }),
    ...(meta !== undefined && { meta: meta as Record<string, Json> }),
  }
}

const isText = (text: string | undefined): text is string => text !== undefined && text !== ''

function stepsOf(before: EvidenceRecord, update: EvidenceUpdate, files: readonly StagedFile[]): readonly Step[] {
  const content = contentChanges(before, update)
  const transfer = update.owner !== undefined && update.owner !== (before.owner ?? '')
  const changed = Object.keys(content).length > 0
  const texts = [update.updateActionDescription, update.updateActionPersona, update.eventDescription].some(isText)
  const onlyTexts = texts && !transfer && files.length === 0

  const steps: Step[] = []
  if (update.actionType !== undefined || changed || onlyTexts) {
    const updateType = update.actionType ?? (changed ? 'change' : 'custom')
    const status = update.actionType === 'stolen' ? { status: update.stolen === false ? 'active' : 'stolen' } : {}
    steps.push({ type: 'update', updateType, sets: { ...content, ...status }, files: [] })
  }
  if (transfer) steps.push({ type: 'transfer', sets: { owner: update.owner as string }, files: [] })
  if (files.length > 0) steps.push({ type: 'update', updateType: 'addfile', sets: {}, files })

  if (steps.length === 0)
    throw new RegistryError('VALIDATION_ERROR', 'This request would record nothing: every value equals the current one')
  if (update.action !== undefined && !steps.some(({ type }) => type === update.action))
    throw new RegistryError('VALIDATION_ERROR', `action: this request records no ${update.action}`)
  return steps
}

/** What of description, summary and meta differs from the current values; an empty one clears. */
function contentChanges(before: EvidenceRecord, update: EvidenceUpdate): Record<string, Json> {
  const changes: Record<string, Json> = {}
  for (const name of ['description', 'summary'] as const) {
    const value = update[name]
    if (value !== undefined && value !== (before[name] ?? '')) changes[name] = value
  }
  const { meta } = update
  if (meta !== undefined && canonicalJson(meta) !== canonicalJson(before.meta ?? {}))
    changes['meta'] = meta as Record<string, Json>
  return changes
}

/** The evidence after a step. */
function applied(before: EvidenceRecord, { sets, updateType, files }: Step): EvidenceRecord {
  const after: { -readonly [K in keyof EvidenceRecord]: EvidenceRecord[K] } = {
    ...before,
    fileCount: before.fileCount + files.length,
  }
  for (const name of ['description', 'summary', 'owner'] as const) {
    const value = sets[name]
    if (value === '') delete after[name]
    else if (typeof value === 'string') after[name] = value
  }
  const meta = sets['meta'] as EvidenceRecord['meta']
  if (meta !== undefined) after.meta = meta
  if (meta !== undefined && Object.keys(meta).length === 0) delete after.meta
  if (updateType === 'stolen') after.stolen = sets['status'] === 'stolen'
  return after
}

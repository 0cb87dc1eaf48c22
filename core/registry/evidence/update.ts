import type { RecordedEvent } from '../../api/evidence.ts'
import { EvidenceChange } from '../../schemas/evidence-inputs.ts'
import type { Evidences } from '../../api/evidences.ts'
import { RegistryError } from '../../errors.ts'
import type { Context } from '../context.ts'
import { assertVersion, type Attempt, type Decision } from '../write.ts'
import { enterCompany } from '../permissions.ts'
import { ExternalId } from '../../schemas/fields.ts'
import { assertClearOrGiven, invalidInput, metaText, validate } from '../../schemas/validation.ts'
import { givenDetails } from './make.ts'
import { readEvidence } from './find.ts'
import type { StagedFile } from '../../schemas/file-inputs.ts'
import { canonicalJson } from '../../commitment/canonical-json.ts'
import type { Read } from '../../store/read.ts'
import { isSameName } from '../../store/keys.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import { appendEvents, type EventAuthor, type EventStep, type EvidenceState } from '../event/append.ts'
import { attachedFiles } from '../file/given-files.ts'
import { attachFiles } from '../file/stored-file.ts'

/**
 * Records up to three events: the changed content, the transfer, the attached files. It holds while the evidence is as
 * it was read; otherwise it is decided again.
 */
export const updateEvidence =
  (context: Context): Evidences['update'] =>
  async (scope, externalId, change, options = {}) => {
    const entered = await enterCompany(context, scope, 'U')
    validate(ExternalId, externalId, 'externalId')
    assertChange(change)
    const call = { scope: entered, options, operation: 'updateEvidence', ids: [externalId], input: change } as const
    return context.write(call, async (attempt) => {
      const evidence = await readEvidence(context, entered, externalId)
      assertVersion(options, evidence.record.lastVersion, 'the evidence')
      const author = { origin: context.origin, hash: context.hash, actor: entered.actor, attempt }
      return decideUpdate(author, evidence, change, attempt)
    })
  }

function assertChange(change: EvidenceChange): void {
  validate(EvidenceChange, change)
  assertClearOrGiven(change)
  if (change.meta !== undefined) metaText(change.meta)
  if (change.stolen !== undefined && change.updateType !== 'stolen')
    throw invalidInput('stolen', 'requires `updateType` to be stolen')
  if (!givesAnything(change)) {
    const fields = RECORDED_FIELDS.map((name) => `\`${name}\``).join(', ')
    throw new RegistryError('VALIDATION_ERROR', `This update gives nothing: at least one of ${fields} is required`)
  }
}

/** The fields of a change that can record an event. The others only say how. */
const RECORDED_FIELDS = [
  'name',
  'owner',
  'description',
  'summary',
  'meta',
  'clear',
  'files',
  'updateType',
  'updateDescription',
  'persona',
  'eventDescription',
] as const

/** Whether a change has a value that it could record. Empty texts and lists are not given. */
const givesAnything = (change: EvidenceChange): boolean =>
  RECORDED_FIELDS.some((name) => {
    const value: unknown = change[name]
    return value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)
  })

const NO_FILES = { checks: [], writes: [], adds: [] }

/**
 * The events that an update records, in one commit and in this order: the content, the transfer, the files. Pure, so
 * that it can be decided again after a conflict without another upload. Requires a validated change.
 *
 * Throws `VALIDATION_ERROR` if no event would be recorded, or none of the expected type.
 */
function decideUpdate(
  author: EventAuthor,
  { record: before, check }: Read<EvidenceRecord>,
  change: EvidenceChange,
  attempt: Attempt,
): Decision<readonly RecordedEvent[]> {
  const { files = [] } = change
  const { evidence, events, checks, writes, adds, append } = appendEvents(author, before, stepsOf(before, change))
  const { company, id } = before
  // The event of the files is the last one.
  const owner = { company, ownerKind: 'evidence', ownerId: id, version: evidence.lastVersion } as const
  const attached = files.length === 0 ? NO_FILES : attachFiles(files, owner, attempt)
  return {
    commit: {
      checks: [check, ...checks, ...attached.checks],
      writes: [...writes, ...attached.writes],
      adds: [...adds, ...attached.adds],
      append,
    },
    result: events,
  }
}

function stepsOf(before: EvidenceRecord, change: EvidenceChange): readonly [EventStep, ...EventStep[]] {
  const texts = textsOf(change)
  const steps: EventStep[] = []
  const add = (step: UpdateStep | undefined): void => {
    if (step === undefined) return
    const { sets, clearsMeta: _, files = [], ...type } = step
    const state = stateAfter(steps.at(-1)?.state ?? before, step)
    steps.push({ ...type, fields: { ...texts, ...sets }, files: attachedFiles(files), state })
  }
  add(contentStep(before, change))
  add(transferStep(before, change))
  add(filesStep(change))
  const [first, ...others] = steps
  if (first === undefined)
    throw new RegistryError('VALIDATION_ERROR', 'This update would record nothing: every value equals the current one')
  const { expectedType } = change
  if (expectedType !== undefined && !steps.some(({ type }) => type === expectedType))
    throw invalidInput('expectedType', `is ${expectedType}, but this update records no such event`)
  return [first, ...others]
}

/** One event of an update: what it sets, beside the texts that every event of the update has. */
interface UpdateStep {
  readonly type: 'update' | 'transfer'
  readonly updateType?: NonNullable<EventStep['updateType']>
  /** A cleared text is empty, a cleared meta the empty object. */
  readonly sets: ContentChanges & { readonly owner?: string; readonly status?: 'active' | 'stolen' }
  /** `meta` is removed, and not set to the empty object. */
  readonly clearsMeta?: boolean
  readonly files?: readonly StagedFile[]
}

type ContentChanges = Pick<EvidenceChange, 'name' | 'description' | 'summary' | 'meta'>

/** Recorded if the content changes, if the caller names an update type, or if there are only texts. */
function contentStep(before: EvidenceRecord, change: EvidenceChange): UpdateStep | undefined {
  const { updateType, stolen = true } = change
  const content = contentChanges(before, change)
  const isChanged = Object.keys(content).length > 0
  const hasOnlyTexts = hasTexts(change) && newOwner(before, change) === undefined && (change.files ?? []).length === 0
  if (updateType === undefined && !isChanged && !hasOnlyTexts) return undefined
  const status = updateType === 'stolen' ? ({ status: stolen ? 'stolen' : 'active' } as const) : {}
  return {
    type: 'update',
    updateType: updateType ?? (isChanged ? 'change' : 'custom'),
    sets: { ...content, ...status },
    clearsMeta: change.clear?.includes('meta') === true,
  }
}

/** A text, if the change really changes it; empty if the change clears it. */
function newText(
  before: EvidenceRecord,
  change: EvidenceChange,
  name: 'owner' | 'description' | 'summary',
): string | undefined {
  const current = before[name]
  if (change.clear?.includes(name)) return current === undefined ? undefined : ''
  const given = change[name]
  return given === undefined || given === '' || given === current ? undefined : given
}

/** An owner whose name is only written in another way is the same one. */
function newOwner(before: EvidenceRecord, change: EvidenceChange): string | undefined {
  const owner = newText(before, change, 'owner')
  return owner === undefined || isSameName(owner, before.owner ?? '') ? undefined : owner
}

function transferStep(before: EvidenceRecord, change: EvidenceChange): UpdateStep | undefined {
  const owner = newOwner(before, change)
  return owner === undefined ? undefined : { type: 'transfer', sets: { owner } }
}

const filesStep = ({ files = [] }: EvidenceChange): UpdateStep | undefined =>
  files.length === 0 ? undefined : { type: 'update', updateType: 'addfile', sets: {}, files }

const hasTexts = ({ updateDescription, persona, eventDescription }: EvidenceChange): boolean =>
  [updateDescription, persona, eventDescription].some((text = '') => text !== '')

/** What is committed on every event of the update: its texts, and the meta that it sent. */
function textsOf({ updateDescription = '', persona = '', eventDescription = '', meta }: EvidenceChange) {
  return {
    ...(updateDescription !== '' && { updateDescription }),
    ...(persona !== '' && { personaName: persona }),
    ...(eventDescription !== '' && { eventDescription }),
    ...(meta !== undefined && { meta }),
  }
}

/** The values that differ from the current ones. */
function contentChanges(before: EvidenceRecord, change: EvidenceChange): ContentChanges {
  const { name } = change
  const description = newText(before, change, 'description')
  const summary = newText(before, change, 'summary')
  const meta = newMeta(before, change)
  return {
    ...(name !== undefined && name !== before.name && { name }),
    ...(description !== undefined && { description }),
    ...(summary !== undefined && { summary }),
    ...(meta !== undefined && { meta }),
  }
}

/** The meta, if the change really changes it; the empty object if the change clears it. */
function newMeta({ meta: current }: EvidenceRecord, { meta, clear = [] }: EvidenceChange): EvidenceChange['meta'] {
  if (clear.includes('meta')) return current === undefined ? undefined : {}
  if (meta === undefined || current === undefined) return meta
  return canonicalJson(meta) === canonicalJson(current) ? undefined : meta
}

function stateAfter(before: EvidenceState, { sets, clearsMeta, files = [] }: UpdateStep): EvidenceState {
  const { description, summary, owner, meta, status, ...rest } = { ...before, ...sets }
  return {
    ...rest,
    ...givenDetails({ description, summary, owner, meta: clearsMeta === true ? undefined : meta }),
    ...(status !== undefined && { stolen: status === 'stolen' }),
    fileCount: before.fileCount + files.length,
  }
}

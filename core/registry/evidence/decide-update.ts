import type { EvidenceChange, RecordedEvent } from '../../api/evidences.ts'
import type { StagedFile } from '../../api/files.ts'
import { canonicalJson } from '../../commitment/canonical-json.ts'
import { RegistryError } from '../../errors.ts'
import { consume } from '../../store/blob-lifecycle.ts'
import type { Read } from '../../store/read.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import { appendEvents, attachedFiles, type EventAuthor, type EventStep, type EvidenceState } from '../event/append.ts'
import { attachFiles } from '../file/stored-file.ts'
import { invalidInput } from '../validation.ts'
import type { Decision } from '../write.ts'
import { givenDetails } from './stored-evidence.ts'

/**
 * The events that an update records, in one commit and in this order: the content, the transfer, the files. Pure, so
 * that it can be decided again after a conflict without another upload. Requires a validated change.
 *
 * Throws `VALIDATION_ERROR` if no event would be recorded, or none of the expected type.
 */
export function decideUpdate(
  author: EventAuthor,
  { record: before, check }: Read<EvidenceRecord>,
  change: EvidenceChange,
): Decision<{ txId: RecordedEvent['txId']; version: number }[]> {
  const { files = [] } = change
  const { evidence, events, writes, append } = appendEvents(author, before, stepsOf(before, change))
  const { company, id } = before
  const used = consume(files)
  return {
    commit: {
      checks: [check, ...used.checks],
      writes: [
        ...writes,
        // The event of the files is the last one.
        ...attachFiles(files, { company, ownerKind: 'evidence', ownerId: id, version: evidence.lastVersion }),
        ...used.writes,
      ],
      append,
    },
    result: events.map(({ txId, version }) => ({ txId, version })),
  }
}

function stepsOf(before: EvidenceRecord, change: EvidenceChange): readonly [EventStep, ...EventStep[]] {
  const texts = textsOf(change)
  const steps: EventStep[] = []
  const add = (step: UpdateStep | undefined): void => {
    if (step === undefined) return
    const { sets, files = [], ...type } = step
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
  readonly sets: ContentChanges & { readonly owner?: string; readonly status?: 'active' | 'stolen' }
  readonly files?: readonly StagedFile[]
}

type ContentChanges = Pick<EvidenceChange, 'description' | 'summary' | 'meta'>

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
  }
}

/** The owner, if the change really changes it. */
const newOwner = (before: EvidenceRecord, { owner }: EvidenceChange): string | undefined =>
  owner === (before.owner ?? '') ? undefined : owner

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

/** The values that differ from the current ones. An empty value removes the current one. */
function contentChanges(before: EvidenceRecord, { description, summary, meta }: EvidenceChange): ContentChanges {
  return {
    ...(description !== undefined && description !== (before.description ?? '') && { description }),
    ...(summary !== undefined && summary !== (before.summary ?? '') && { summary }),
    ...(meta !== undefined && canonicalJson(meta) !== canonicalJson(before.meta ?? {}) && { meta }),
  }
}

function stateAfter(before: EvidenceState, { sets, files = [] }: UpdateStep): EvidenceState {
  const { description, summary, owner, meta, status, ...rest } = { ...before, ...sets }
  return {
    ...rest,
    ...givenDetails({ description, summary, owner, meta }),
    ...(status !== undefined && { stolen: status === 'stolen' }),
    fileCount: before.fileCount + files.length,
  }
}

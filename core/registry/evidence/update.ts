import type { EvidenceChange, RecordedEvent } from '../../api/evidences.ts'
import type { UpdateOptions } from '../../api/writes.ts'
import { RegistryError } from '../../errors.ts'
import type { Context } from '../context.ts'
import { idempotentCall } from '../idempotency.ts'
import type { AuthorizedScope } from '../permissions.ts'
import { ExternalId } from '../../schemas/fields.ts'
import { assertClearOrGiven, invalidInput, metaText, validate } from '../../schemas/validation.ts'
import { write } from '../write.ts'
import { decideUpdate } from './decide-update.ts'
import { evidenceChangeSchema } from './input.ts'
import { readEvidence } from './stored-evidence.ts'

interface UpdateRequest {
  readonly externalId: string
  readonly change: EvidenceChange
}

export async function updateEvidence(
  context: Context,
  scope: AuthorizedScope,
  { externalId, change }: UpdateRequest,
  options: UpdateOptions = {},
): Promise<readonly RecordedEvent[]> {
  validate(ExternalId, externalId, 'externalId')
  assertChange(change)
  const { ifVersion } = options
  const call = idempotentCall(context, scope, options, {
    operation: 'updateEvidence',
    ids: [externalId],
    input: change,
  })
  return write(context, call, async ({ now }) => {
    context.gate.assertClock()
    const evidence = await readEvidence(context, scope, externalId)
    const { lastVersion } = evidence.record
    if (ifVersion !== undefined && ifVersion !== lastVersion)
      throw new RegistryError(
        'VERSION_CONFLICT',
        `ifVersion is ${ifVersion}, but the last event has version ${lastVersion}: read the evidence again`,
        { field: 'ifVersion' },
      )
    return decideUpdate({ origin: context.origin, actor: scope.actor, now }, evidence, change)
  })
}

function assertChange(change: EvidenceChange): void {
  validate(evidenceChangeSchema, change)
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

import type { ErasedOfEvent } from '../../commitment/receipt.ts'
import { ERASABLE_FIELDS, type ErasureInput } from '../../schemas/erasure-inputs.ts'
import { invalidInput } from '../../schemas/validation.ts'
import { CURRENT_FIELDS, withFirstEvent } from '../../store/evidence.ts'
import { foldCase } from '../../store/keys.ts'
import type { ErasureRecord, EventRecord, EvidenceRecord } from '../../store/records.ts'
import { eraseParts, withTimes } from '../event/erase.ts'

/** What an erasure leads to. */
export interface ErasurePlan {
  /** The evidence with its first event, after it. */
  readonly evidence: EvidenceRecord
  /** The events from version 2 that it changes, after it. */
  readonly later: readonly EventRecord[]
  /** None if everything was erased before. */
  readonly erased: ErasureRecord['erased']
}

/** All events of an evidence. */
export type Events = readonly [EventRecord, ...EventRecord[]]

/** What is to be erased of an event: names and ids that the event still has, sorted by UTF-16 code units. */
export type PartsOf = (event: EventRecord) => Pick<ErasedOfEvent, 'fields' | 'files'>

/**
 * Plans an erasure. Pure, so that it can be planned again after a conflict.
 *
 * @param at - ms since 1970
 */
export function planErasure(before: EvidenceRecord, events: Events, partsOf: PartsOf, at: number): ErasurePlan {
  const after: EventRecord[] = []
  const erased: ErasureRecord['erased'][number][] = []
  /** By field, whether this erasure removes the value that was set last. */
  const isLastErased = new Map<string, boolean>()
  for (const event of events) {
    const parts = partsOf(event)
    for (const name of namesIn(event, 'fields')) isLastErased.set(name, parts.fields.includes(name))
    const isChanged = parts.fields.length + parts.files.length > 0
    if (isChanged) erased.push({ version: event.version, txId: event.txId, ...parts })
    const left = isChanged ? withTimes(eraseParts(event, parts), [...parts.fields, ...parts.files], at) : event
    after.push(isLastErased.get('owner') === true ? { ...withTimes(left, ['owner'], at), ownerName: '' } : left)
  }
  const gone = CURRENT_FIELDS.filter((name) => isLastErased.get(name) === true)
  const [first = events[0], ...later] = after
  return {
    evidence: withFirstEvent(withoutValues(before, { gone, files: erased.flatMap((of) => of.files), at }), first),
    later: later.filter((event, i) => event !== events[i + 1]),
    erased,
  }
}

/**
 * What a request erases. Throws `VALIDATION_ERROR` for a version that does not exist, and for a field or file that no
 * chosen event has or had.
 */
export function partsAskedFor(input: ErasureInput, evidenceId: string, events: Events): PartsOf {
  const { versions = [] } = input
  assertAllIn(versions, new Set(events.map(({ version }) => version)), 'versions')
  const chosen = new Set(events.filter(({ version }) => input.versions === undefined || versions.includes(version)))
  for (const kind of ['fields', 'files'] as const)
    assertAllIn<string>(input[kind] ?? [], new Set([...chosen].flatMap((event) => namesIn(event, kind))), kind)
  return (event) => (chosen.has(event) ? partsToErase(event, input, evidenceId) : NOTHING)
}

/** The owner and the persona of an event, where they are the subject. `folded`: as `foldCase` returns it. */
export const partsNaming =
  (folded: string): PartsOf =>
  ({ fields }) => {
    const isNamed = (value: unknown): boolean => typeof value === 'string' && foldCase(value) === folded
    return { fields: ['owner', 'personaName'].filter((name) => isNamed(fields[name])), files: [] }
  }

type Parts = ReturnType<PartsOf>
const NOTHING: Parts = { fields: [], files: [] }

/** Names of the fields, or ids of the files, that an event has or had. */
const namesIn = (event: EventRecord, kind: keyof Parts): readonly string[] =>
  Object.keys({ ...event[kind], ...event.erased?.[kind] })

function assertAllIn<T extends string | number>(asked: readonly T[], known: ReadonlySet<T>, field: string): void {
  const missing = asked.find((one) => !known.has(one))
  if (missing !== undefined) throw invalidInput(field, `must not contain ${missing}: the evidence does not have it`)
}

function partsToErase({ fields, files }: EventRecord, input: ErasureInput, evidenceId: string): Parts {
  const { content = false } = input
  // After an erasure of the content, the external id of later events is the internal id.
  const isNamed = (fields['externalId'] ?? evidenceId) !== evidenceId
  const names = content ? [...ERASABLE_FIELDS, ...(isNamed ? ['externalId'] : [])] : (input.fields ?? [])
  const attached = Object.values(files).filter((file) => !('deleted' in file))
  return {
    fields: [...new Set(names)].filter((name) => Object.hasOwn(fields, name)).toSorted(),
    files: attached.flatMap(({ id }) => (content || input.files?.includes(id) ? [id] : [])).toSorted(),
  }
}

/** The evidence without the current values of fields, and without files. */
function withoutValues(
  before: EvidenceRecord,
  { gone, files, at }: { readonly gone: readonly string[]; readonly files: readonly string[]; readonly at: number },
): EvidenceRecord {
  const { id, image } = before
  const erased = { ...before.erased, ...Object.fromEntries(gone.map((name) => [name, at])) }
  return {
    ...before,
    ...Object.fromEntries(gone.map((name) => [name, undefined])),
    ...(gone.includes('name') && { name: '' }),
    ...(gone.includes('externalId') && { externalId: id }),
    image: image !== undefined && files.includes(image.id) ? undefined : image,
    fileCount: before.fileCount - files.length,
    erased: Object.keys(erased).length === 0 ? undefined : erased,
  }
}

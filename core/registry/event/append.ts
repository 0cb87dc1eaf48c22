import type { RecordedEvent } from '../../api/evidence.ts'
import { toBase64 } from '../../bytes.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import { type EventFile, valueText } from '../../commitment/event-format.ts'
import type { Add, Check, LogAppend, Write } from '../../ports/index.ts'
import { encodeRecord, storedBase64 } from '../../store/codec.ts'
import { corrupt } from '../../errors.ts'
import type { Attempt } from '../write.ts'
import { derivedWrites } from '../../store/entries.ts'
import { evidenceEntries, firstEventOf, firstEventRecord, putUnplaced } from '../../store/evidence.ts'
import { evidenceText, type UnplacedEvidence } from '../../store/evidence-form.ts'
import { type KeyedHash, keys, laterEventKey } from '../../store/keys.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'
import { makeEvent, newSecret, txIdOfEntry } from './make.ts'

/** An evidence's record without the members that are computed from its events. */
export type EvidenceState = Omit<
  EvidenceRecord,
  | 'txId'
  | 'position'
  | 'lastVersion'
  | 'lastTxId'
  | 'lastPosition'
  | 'lastAt'
  | 'changes'
  | 'first'
  | 'stolenAt'
  | 'erased'
>

/** One event to append. */
export interface EventStep {
  readonly type: EventRecord['type']
  readonly updateType?: NonNullable<EventRecord['updateType']>
  /** What the event commits to, without the fields of every event. */
  readonly fields: Readonly<Record<string, Json>>
  /** By file id. */
  readonly files: Readonly<Record<string, EventFile>>
  /** The evidence after the event. */
  readonly state: EvidenceState
  /** 32 random bytes for this event alone. Default: new ones. */
  readonly seed?: Uint8Array
}

export interface EventAuthor {
  /** The log's name. */
  readonly origin: string
  /** For the index of owners. */
  readonly hash: KeyedHash
  /** Source system, or `operator`. */
  readonly actor: string
  /** `now` (ms since 1970): an event is never earlier than the one before it. */
  readonly attempt: Attempt
}

/** The part of a commit that appends events, and what it records. */
interface AppendedEvents {
  /** The evidence after the last event. */
  readonly evidence: UnplacedEvidence
  readonly events: readonly RecordedEvent[]
  /** That no version is recorded yet: in a damaged store, the record may be an older one. */
  readonly checks: readonly Check[]
  /** The evidence's record, which contains the first event, its entries in indexes, and the later events. */
  readonly writes: readonly Write[]
  /** Counts the stolen evidences. Other counters change only with creations. */
  readonly adds: readonly Add[]
  /** The log entry of each event. */
  readonly append: readonly LogAppend[]
}

/**
 * Appends events to an evidence's history, in order.
 *
 * @param before - the evidence's record
 * @param steps - at least one
 */
export function appendEvents(
  author: EventAuthor,
  before: EvidenceRecord,
  steps: readonly [EventStep, ...EventStep[]],
): AppendedEvents {
  const [first, ...others] = steps
  let last = appendEvent(author, before, first)
  const made = [last]
  for (const step of others) made.push((last = appendEvent(author, last.evidence, step)))
  const { evidence } = last
  const checks = made.map(({ record: { version } }) => ({
    key: laterEventKey(evidence.company, evidence.id, version),
    version: null,
  }))
  // If another write was faster, the evidence has changed, too, and the versions are later ones now.
  if (checks.some(({ key }) => author.attempt.conflicts.includes(key)))
    throw corrupt(`Evidence ${evidence.id} has a later version than its record says`)
  return {
    evidence,
    events: made.map(({ record: { type, updateType, txId, version, files } }) => ({
      type,
      ...(updateType !== undefined && { updateType }),
      txId,
      version,
      ...filesMember(Object.values(files)),
    })),
    checks,
    writes: [
      putUnplaced(evidence, evidenceText(evidence), made.length - 1),
      ...derivedWrites(evidenceEntries(before, author.hash), evidenceEntries(evidence, author.hash)),
      ...made.map(({ record }, positionOf) => ({
        key: laterEventKey(evidence.company, evidence.id, record.version),
        value: encodeRecord(record),
        positionOf,
      })),
    ],
    adds: stolenCount(before, evidence),
    append: made.map(({ append }) => append),
  }
}

function stolenCount(before: EvidenceRecord, { company, stolen }: UnplacedEvidence): readonly Add[] {
  const delta = Number(stolen) - Number(before.stolen)
  return delta === 0 ? [] : [{ key: keys.evidenceCount(['stolen', company]), delta }]
}

function appendEvent(
  { origin, actor, attempt: { now } }: EventAuthor,
  before: UnplacedEvidence,
  { type, updateType, fields, files, state, seed = newSecret() }: EventStep,
): { readonly evidence: UnplacedEvidence; readonly record: Omit<EventRecord, 'position'>; readonly append: LogAppend } {
  const action = { type, ...(updateType !== undefined && { updateType }) }
  const { id, company, externalId, owner = '' } = state
  const draft = {
    version: before.lastVersion + 1,
    time: Math.max(now, before.lastAt),
    first: before.txId,
    prev: before.lastTxId,
    ...action,
    ownerName: owner,
    fields: { action, actor, company, evidence: id, externalId, ...fields },
    files,
  }
  const slotKey = storedBase64(before.slotKey, 'A slot key')
  // `Object.assign`, because a spread that is followed by more members takes several times as long.
  const written = Object.fromEntries(Object.entries(draft.fields).map(([name, value]) => [name, valueText(value)]))
  const event = Object.assign({ company, evidenceId: id }, draft, { fields: written })
  const append = makeEvent(event, origin, { slotKey, seed })
  const txId = txIdOfEntry(append.entry)
  const { changes } = before
  const evidence = Object.assign({}, state, {
    txId: before.txId,
    position: before.position,
    lastVersion: draft.version,
    lastTxId: txId,
    lastAt: draft.time,
    stolenAt: state.stolen ? (before.stolenAt ?? draft.time) : undefined,
    changes: { ...changes, [type]: changes[type] + 1 },
    erased: stillErased(before, fields),
    first: firstEventRecord(state, firstEventOf(before)),
  })
  return { evidence, record: Object.assign({ salts: toBase64(seed), txId }, draft), append }
}

/** The erased values of an evidence after an event with these fields. */
function stillErased({ erased = {} }: UnplacedEvidence, fields: EventStep['fields']): EvidenceRecord['erased'] {
  const left = Object.entries(erased).filter(([name]) => !Object.hasOwn(fields, name))
  return left.length === 0 ? undefined : Object.fromEntries(left)
}

/** What a recorded event says of its files, if it has any. */
export const filesMember = (files: readonly Pick<EventFile, 'id'>[]): Pick<RecordedEvent, 'files'> =>
  files.length === 0 ? {} : { files: files.map(({ id }) => id) }

import type { StagedFile } from '../../api/files.ts'
import type { RecordedEvent } from '../../api/evidences.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import type { AttachedFile, EventFile } from '../../commitment/event-format.ts'
import type { Add, Write, LogAppend } from '../../ports/index.ts'
import { encodeEventPayload } from '../../log/payload.ts'
import { derivedWrites, evidenceEntries } from '../../store/derived.ts'
import { keys } from '../../store/keys.ts'
import { firstEventOf, firstEventRecord } from '../../store/evidence.ts'
import { putRecord } from '../../store/read.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'
import { makeEvent } from './event.ts'

/** An evidence's record without the members that are computed from its events. */
export type EvidenceState = Omit<EvidenceRecord, 'txId' | 'lastVersion' | 'lastTxId' | 'lastAt' | 'changes' | 'first'>

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
  /** As of `makeEvent`. */
  readonly seed?: string
}

export interface EventAuthor {
  /** The log's name. */
  readonly origin: string
  /** Source system, or `operator`. */
  readonly actor: string
  /** ms since 1970. An event is never earlier than the one before it. */
  readonly now: number
}

/** The part of a commit that appends events, and what it records. */
export interface AppendedEvents {
  /** The evidence after the last event. */
  readonly evidence: EvidenceRecord
  readonly events: readonly RecordedEvent[]
  /** The evidence's record, which contains the first event, its entries in indexes, and the later events. */
  readonly writes: readonly Write[]
  /** Counts the stolen evidences. Other counters change only with creations. */
  readonly adds: readonly Add[]
  /** The log entry of each event. */
  readonly append: readonly LogAppend[]
}

/**
 * Appends events to an evidence's history, in order. The only place where events are made.
 *
 * @param before - the evidence's record, `undefined` if the first event creates the evidence
 * @param steps - at least one
 */
export function appendEvents(
  author: EventAuthor,
  before: EvidenceRecord | undefined,
  steps: readonly [EventStep, ...EventStep[]],
): AppendedEvents {
  const [first, ...others] = steps
  let last = appendEvent(author, before, first)
  const made = [last]
  for (const step of others) made.push((last = appendEvent(author, last.evidence, step)))
  const { evidence } = last
  return {
    evidence,
    events: made.map(({ event }) => event),
    writes: [
      putRecord(keys.evidence(evidence.id), evidence),
      ...derivedWrites(before === undefined ? [] : evidenceEntries(before), evidenceEntries(evidence)),
      ...made.flatMap(({ writes }) => writes),
    ],
    adds: stolenCount(before, evidence),
    append: made.map(({ append }) => append),
  }
}

function stolenCount(before: EvidenceRecord | undefined, { company, stolen }: EvidenceRecord): readonly Add[] {
  const delta = Number(stolen) - Number(before?.stolen ?? false)
  return delta === 0 ? [] : [{ key: keys.evidenceCount(['stolen', company]), delta }]
}

interface AppendedEvent {
  readonly evidence: EvidenceRecord
  readonly event: RecordedEvent
  readonly append: LogAppend
  readonly writes: readonly Write[]
}

function appendEvent(
  { origin, actor, now }: EventAuthor,
  before: EvidenceRecord | undefined,
  { type, updateType, fields, files, state, seed }: EventStep,
): AppendedEvent {
  const action = { type, ...(updateType !== undefined && { updateType }) }
  const draft = {
    version: (before?.lastVersion ?? 0) + 1,
    time: Math.max(now, before?.lastAt ?? 0),
    first: before?.txId ?? null,
    prev: before?.lastTxId ?? null,
    ...action,
    ownerName: state.owner ?? '',
    fields: {
      action,
      actor,
      company: state.company,
      evidence: state.id,
      externalId: state.externalId,
      ...fields,
    },
    files,
  }
  const { record, txId, opening } = makeEvent(draft, { origin, slotKey: state.slotKey }, seed)
  return {
    evidence: evidenceAfter(state, before, record),
    event: { ...action, txId: record.txId, version: record.version },
    append: {
      entry: txId,
      payload: encodeEventPayload({ opening, evidenceId: state.id, version: record.version }),
    },
    writes: before === undefined ? [] : [putRecord(keys.event(state.id, record.version), record)],
  }
}

/** `Object.assign`, because a spread that is followed by more members takes several times as long. */
function evidenceAfter(state: EvidenceState, before: EvidenceRecord | undefined, event: EventRecord): EvidenceRecord {
  const { type, txId, version, time } = event
  const changes = before?.changes ?? { create: 0, update: 0, transfer: 0 }
  return Object.assign({}, state, {
    txId: before?.txId ?? txId,
    lastVersion: version,
    lastTxId: txId,
    lastAt: time,
    changes: { ...changes, [type]: changes[type] + 1 },
    first: firstEventRecord(state, before === undefined ? event : firstEventOf(before)),
  })
}

/** What an event commits to of the files that it attaches. */
export const attachedFiles = (staged: readonly StagedFile[]): Readonly<Record<string, AttachedFile>> =>
  Object.fromEntries(staged.map(({ id, mimeType, name, sha256, size }) => [id, { id, mimeType, name, sha256, size }]))

import type { HistoryPage } from '../../api/evidence.ts'
import { HistoryQuery } from '../../schemas/evidence-inputs.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { Cacheable } from '../../api/scope.ts'
import type { EntryStatus } from '../../log/reader.ts'
import type { AnchorHeadRecord } from '../../log/records.ts'
import type { Version } from '../../ports/index.ts'
import { validate } from '../../schemas/validation.ts'
import { decodeRecord } from '../../store/codec.ts'
import { readEvents } from '../../store/evidence.ts'
import type { StoredRecord } from '../../store/keys.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { discloseEvent } from '../event/opening.ts'
import { hasState, withState } from '../cacheable.ts'
import { enterCompany } from '../permissions.ts'
import { readEvidenceEntry } from './find.ts'
import { eventOf, evidenceOf } from './shown.ts'

const DEFAULT_LIMIT = 50

/** Reads an evidence with a page of its history, each event with the state of its batch. */
export const getEvidenceIfChanged =
  (context: Context): Evidences['getIfChanged'] =>
  async (scope, externalId, query, cached) => {
    const entered = await enterCompany(context, scope, 'R')
    const selection = validate(HistoryQuery, query)
    const entry = await readEvidenceEntry(context, entered, externalId)
    if (hasState<HistoryState>(cached, 'confirmedFrom') && cached.state.version === entry.version)
      if (isWithin(cached.state, (await context.log.anchors()).head)) return cached
    return readHistory(context, entry, selection)
  }

/**
 * What has to stay the same for a page to stay the same: the evidence's record, and the sizes of the newest confirmed
 * and sent anchors with which its events have the same status. Another server may change both.
 */
interface HistoryState {
  readonly version: Version
  readonly confirmedFrom: number
  readonly confirmedBelow: number
  readonly sentFrom: number
  readonly sentBelow: number
}

const isWithin = (range: HistoryState, { confirmedSize, sentSize }: AnchorHeadRecord): boolean =>
  confirmedSize >= range.confirmedFrom &&
  confirmedSize < range.confirmedBelow &&
  sentSize >= range.sentFrom &&
  sentSize < range.sentBelow

/** Reads a page of the history of an evidence, by default of its first events. */
async function readHistory(
  { records, log, origin }: Context,
  entry: StoredRecord<EvidenceRecord>,
  { after = 0, limit = DEFAULT_LIMIT, disclose = false }: HistoryQuery,
): Promise<HistoryPage & Cacheable> {
  const record = decodeRecord(entry)
  const end = Math.min(after + limit, record.lastVersion)
  const versions = Array.from({ length: Math.max(0, end - after) }, (_, i) => after + 1 + i)
  const events = await readEvents(records, record, versions)
  const statuses = await log.statusesAt(events.map(({ position }) => position))
  const { slotKey } = record
  const page: HistoryPage = {
    evidence: evidenceOf(record),
    events: events.map((event, i) => {
      const shown = eventOf(event, statuses[i])
      if (disclose) shown.disclosure = discloseEvent(event, { origin, slotKey })
      return shown
    }),
    lastVersion: events.at(-1)?.version ?? Math.min(after, record.lastVersion),
    hasMore: end < record.lastVersion,
  }
  const state = stateOf(entry.version, statuses)
  return state === undefined ? page : withState(page, state)
}

/** `undefined` if an event is not in a batch yet. */
function stateOf(version: Version, statuses: readonly EntryStatus[]): HistoryState | undefined {
  const state = { version, confirmedFrom: 0, confirmedBelow: Infinity, sentFrom: 0, sentBelow: Infinity }
  for (const { batch, sendStatus } of statuses) {
    if (batch === null) return undefined
    if (sendStatus === 'C') state.confirmedFrom = Math.max(state.confirmedFrom, batch.end)
    else state.confirmedBelow = Math.min(state.confirmedBelow, batch.end)
    if (sendStatus === 'S') state.sentFrom = Math.max(state.sentFrom, batch.end)
    if (sendStatus === 'P') state.sentBelow = Math.min(state.sentBelow, batch.end)
  }
  return state
}

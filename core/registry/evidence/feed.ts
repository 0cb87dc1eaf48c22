import type { EventPage } from '../../api/evidence.ts'
import type { Evidences } from '../../api/evidences.ts'
import type { CompanyId, EvidenceId } from '../../api/scope.ts'
import { entryOf } from '../../commitment/log-entry.ts'
import { isRegistryError } from '../../errors.ts'
import { companyOfPayload, eventPayload, eventTimeOf, type EventPayload } from '../../log/payload.ts'
import { invalidInput, validate } from '../../schemas/validation.ts'
import { BoundedMap } from '../../store/bounded-map.ts'
import { keys } from '../../store/keys.ts'
import { decodeRecord } from '../../store/codec.ts'
import { readAll } from '../../store/read.ts'
import type { Context } from '../context.ts'
import { txIdOfEntry } from '../event/make.ts'
import { enterCompany } from '../permissions.ts'
import { batchOf } from './shown.ts'
import { EventQuery } from '../../schemas/evidence-inputs.ts'

/**
 * The events of a company, found in the log itself: the payload of each entry names the company. The position in the
 * log is the cursor. A position is visible only with all positions before it, whichever server wrote them, so a reader
 * skips nothing.
 */

/** Entries that a page with an event reads, so that a small company in a large log does not hold the server. */
const MAX_ENTRIES = 10_240
/** How long a page without an event goes on reading. */
const MAX_SEARCH_MS = 200
/** Entries that are read at once: first those of one row of the log, then more if few are of the company. */
const [FIRST_ENTRIES, MORE_ENTRIES] = [256, 2_048]
const DEFAULT_LIMIT = 100

/** Companies whose first event is remembered, so that each part of the log before it is read once. */
const MAX_CACHED_COMPANIES = 10_000

/** The operations on the events of a company. */
export function eventFeed(context: Context): Pick<Evidences, 'events' | 'nextEvent' | 'entriesAfter'> {
  const { records } = context
  /** No event of the company is before this position. */
  const firsts = new BoundedMap<CompanyId, number>(MAX_CACHED_COMPANIES)
  const firstOf = async (companyId: CompanyId): Promise<number> => {
    const cached = firsts.get(companyId)
    if (cached !== undefined) return cached
    const [company] = await readAll(records, [keys.company(companyId)])
    return decodeRecord(company)?.logSize ?? 0
  }
  return {
    async events(scope, query = {}) {
      const { companyId } = await enterCompany(context, scope, 'R')
      const { after, limit = DEFAULT_LIMIT } = validate(EventQuery, query)
      const logSize = await records.logSize()
      const [position, first] = [positionOf(context, after, logSize), await firstOf(companyId)]
      const range = { from: Math.max(position, first), logSize, limit }
      const { found, end, hasMore } = await findEvents(context, companyId, range)
      if (position <= first) firsts.set(companyId, found[0]?.position ?? end)
      return { events: await describeEvents(context, companyId, found), cursor: cursorAt(context, end), hasMore }
    },
    async nextEvent(scope, after, signal) {
      const { companyId } = await enterCompany(context, scope, 'R')
      const from = positionOf(context, after, await records.logSize())
      return cursorAt(context, await context.arrivals.next(companyId, from, signal))
    },
    async entriesAfter(scope, after) {
      const { companyId } = await enterCompany(context, scope, 'R')
      const logSize = await records.logSize()
      return Math.max(0, logSize - Math.max(positionOf(context, after, logSize), await firstOf(companyId)))
    },
  }
}

interface FoundEvent {
  readonly position: number
  readonly time: number
  readonly evidenceId: EvidenceId
  readonly event: EventPayload
}

interface FoundEvents extends Pick<EventPage, 'hasMore'> {
  readonly found: readonly FoundEvent[]
  /** The position of the first entry that was not looked at. */
  readonly end: number
}

async function findEvents(
  { records, clock }: Context,
  companyId: CompanyId,
  { from, logSize, limit }: Readonly<Record<'from' | 'logSize' | 'limit', number>>,
): Promise<FoundEvents> {
  const found: FoundEvent[] = []
  const beganAt = clock.now()
  const goesOn = (): boolean =>
    found.length === 0 ? clock.now() - beganAt < MAX_SEARCH_MS : position < from + MAX_ENTRIES && found.length < limit
  let position = from
  for (let step = FIRST_ENTRIES; position < logSize && goesOn(); step = MORE_ENTRIES) {
    const payloads = await records.readPayloads(position, Math.min(logSize - position, step - (position % step)))
    // The log was set back.
    if (payloads.length === 0) break
    for (const payload of payloads) {
      if (found.length === limit) break
      if (companyOfPayload(payload) === companyId) found.push(foundEvent(position, payload))
      position += 1
    }
  }
  return { found, end: position, hasMore: position < logSize }
}

function foundEvent(position: number, payload: Uint8Array): FoundEvent {
  const event = eventPayload(payload)
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- payloads contain ids of evidences
  return { position, time: eventTimeOf(payload) ?? 0, evidenceId: event.evidenceId as EvidenceId, event }
}

async function describeEvents(
  context: Context,
  companyId: CompanyId,
  found: readonly FoundEvent[],
): Promise<EventPage['events']> {
  const [externalIds, statuses] = await Promise.all([
    externalIdsOf(context, companyId, [...new Set(found.map(({ evidenceId }) => evidenceId))]),
    context.log.statusesAt(found.map(({ position }) => position)),
  ])
  return found.map(({ position, time, evidenceId, event: { opening, version, type, updateType } }, i) => {
    const externalId = externalIds.get(evidenceId)
    return {
      cursor: cursorAt(context, position + 1),
      evidenceId,
      ...(externalId !== undefined && { externalId }),
      version,
      type,
      ...(updateType !== undefined && { updateType }),
      txId: txIdOfEntry(entryOf(opening)),
      recordedAt: new Date(time),
      batch: batchOf(statuses[i]),
    }
  })
}

/** The external ids of evidences: none of a missing or damaged one, so that it does not stop a reader. */
async function externalIdsOf(
  { records }: Context,
  companyId: CompanyId,
  ids: readonly EvidenceId[],
): Promise<ReadonlyMap<EvidenceId, string>> {
  const read = async (some: readonly EvidenceId[]): Promise<readonly (readonly [EvidenceId, string])[]> => {
    try {
      const entries = await readAll(
        records,
        some.map((id) => keys.evidence(companyId, id)),
      )
      const found: (readonly [EvidenceId, string])[] = []
      for (const [i, id] of some.entries()) {
        const entry = entries[i]
        if (entry !== undefined) found.push([id, decodeRecord(entry).externalId])
      }
      return found
    } catch (error) {
      if (!isRegistryError(error, 'CORRUPT')) throw error
      return some.length === 1 ? [] : (await Promise.all(some.map((id) => read([id])))).flat()
    }
  }
  return new Map(await read(ids))
}

/** The text of a position: it names the log, so that a cursor of another one is found. */
const cursorAt = ({ origin }: Context, position: number): string => `${logIdOf(origin)}.${position}`

/** Of an origin `NAME/ID`. */
const logIdOf = (origin: string): string => origin.slice(-32, -24)

/** The position of a cursor. Throws `VALIDATION_ERROR` for one of another log, or of one that was longer. */
function positionOf({ origin }: Context, cursor = `${logIdOf(origin)}.0`, logSize: number): number {
  if (cursor === 'latest') return logSize
  const [, logId, digits] = /^([0-9a-f]{8})\.(0|[1-9]\d{0,14})$/.exec(cursor) ?? []
  const position = Number(digits)
  if (logId === logIdOf(origin) && position <= logSize) return position
  throw invalidInput('after', 'must be a cursor of this log, as the page or the event before has it, or latest')
}

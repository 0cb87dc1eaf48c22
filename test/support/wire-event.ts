import type { Disclosure, HistoryEvent } from '../../core/index.ts'

/** An event with its disclosure, as the server sends it. */
export interface WireEvent {
  timestamp: string
  version: number
  type: string
  updateType?: string
  ownerName: string
  personaName?: string
  eventDescription?: string
  updateDescription?: string
  meta?: unknown
  txId: string
  disclosure: Writable<Disclosure>
}

type Writable<T> = T extends object ? { -readonly [Name in keyof T]: Writable<T[Name]> } : T

/** The JSON of events that were read with `disclose`. */
export const wireEvents = (events: readonly HistoryEvent[]): WireEvent[] =>
  JSON.parse(
    JSON.stringify(
      events.map(({ recordedAt, owner, persona, batch: _, ...event }) => ({
        ...event,
        timestamp: recordedAt,
        ownerName: owner,
        personaName: persona,
      })),
    ),
  ) as WireEvent[]

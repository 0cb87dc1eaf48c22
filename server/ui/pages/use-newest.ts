import { useEffect, useState } from 'preact/hooks'
import type { EvidenceListItem, EvidencePage, Overview } from '../../client/index.ts'
import { eventName } from '../event-names.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'

/** A row that is scrolled past costs no request. */
const PAUSE_MS = 200

/** What was read of the items of lists, so that a row that is shown again is not read again. */
const known = new WeakMap<EvidenceListItem, EvidencePage>()

/** How far the log is, as a text: no event comes closer to its proof while it stays the same. */
export const stateOfLog = ({ log: { sealed, anchored } }: Overview): string => `${sealed.size} ${anchored.size}`

/**
 * An item of a list as its newest event left it. A list knows neither the kind of that event nor how far it is proven,
 * so the event is read for each item that is shown; until it is anchored, again each time the log gets further.
 */
export function useNewest(item: EvidenceListItem, logState: string) {
  const { client } = useSession()
  const { externalId, owner, stolen, lastUpdateDate, lastUpdateTxId, lastUpdateBlockNumber, historyChanges } = item
  const [page, setPage] = useState(known.get(item))
  const isAnchored = lastUpdateBlockNumber !== undefined
  const newest = page !== undefined && page.lastVersion >= historyChanges.total ? page : undefined
  const event = newest?.events.at(-1)
  const isRead = event?.merkleSendStatus === 'C' || (isAnchored && historyChanges.total === 1)
  useEffect(() => {
    if (isRead) return undefined
    const abort = new AbortController()
    const read = async (): Promise<void> => {
      const last = historyChanges.total - 1
      const next = await client.getEvidence({ externalId, last }, { signal: abort.signal })
      known.set(item, next)
      setPage(next)
    }
    // Without it, the row shows what the list knows.
    const timer = setTimeout(() => void read().catch(() => undefined), PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [client, lastUpdateTxId, logState])
  const created = historyChanges.total === 1 ? texts.evidence.eventNames.create : undefined
  return {
    /** What the event did; `undefined` until it is known. */
    name: event === undefined ? created : eventName(event.type, event.updateType, newest?.object.status),
    at: event?.timestamp ?? lastUpdateDate,
    sendStatus: event === undefined && isAnchored ? 'C' : event?.merkleSendStatus,
    owner: newest === undefined ? owner.name : (newest.object.owner ?? ''),
    isStolen: newest === undefined ? stolen : newest.object.status === 'stolen',
  }
}

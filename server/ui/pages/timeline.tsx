import { useEffect, useState } from 'preact/hooks'
import type { EvidenceEvent } from '../../client/index.ts'
import { Failure } from '../components/notice.tsx'
import { Facts, Hash, SendStatus, Time } from '../components/values.tsx'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'

const PAGE_EVENTS = 50
/** The pause between two reads while an event is not confirmed. */
const REFRESH_MS = 2_000

/**
 * The history of an evidence. While an event is not confirmed, it is read again, so that P, S and C change in front of
 * the user. Reads again at once if `changes` grows.
 */
export function Timeline({ externalId, changes }: { readonly externalId: string; readonly changes: number }) {
  const t = texts.evidence
  const { client } = useSession()
  const [events, setEvents] = useState<readonly EvidenceEvent[]>([])
  const [pages, setPages] = useState(1)
  const [isMore, setMore] = useState(false)
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (): Promise<void> => {
      try {
        const page = await client.getEvidence({ externalId, len: pages * PAGE_EVENTS }, abort)
        if (abort.signal.aborted) return
        setEvents(page.events)
        setMore(page.isMore)
        setError(undefined)
        if (page.events.some(({ merkleSendStatus }) => merkleSendStatus !== 'C'))
          timer = setTimeout(() => void read(), REFRESH_MS)
      } catch (failure) {
        if (!abort.signal.aborted) setError(failure)
      }
    }
    void read()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [client, externalId, pages, changes])
  return (
    <section class="card">
      <h2>{t.history}</h2>
      {error !== undefined && <Failure error={error} />}
      <ol class="timeline">
        {events.map((event) => (
          <TimelineEvent key={event.version} event={event} />
        ))}
      </ol>
      {isMore && <button onClick={() => setPages(pages + 1)}>{texts.more}</button>}
    </section>
  )
}

function TimelineEvent({ event }: { readonly event: EvidenceEvent }) {
  const t = texts.evidence
  const { type, updateType, version, timestamp, merkleSendStatus, merkleBatchId, meta } = event
  return (
    <li>
      <div class="row">
        <strong>{updateType ? t.updateNames[updateType] : t.eventNames[type]}</strong>
        <span class="muted">
          {t.version(version)} · <Time at={timestamp} />
        </span>
        <SendStatus status={merkleSendStatus} />
      </div>
      <Facts
        of={[
          [texts.evidences.owner, event.ownerName],
          [t.persona, event.personaName],
          [texts.form.eventDescription, event.eventDescription],
          [texts.form.updateActionDescription, event.updateDescription],
          [t.changedMeta, meta && <pre>{JSON.stringify(meta, null, 2)}</pre>],
          ['txId', <Hash value={event.txId} />],
          [t.batch, merkleBatchId === null ? undefined : <Hash value={merkleBatchId} />],
        ]}
      />
    </li>
  )
}

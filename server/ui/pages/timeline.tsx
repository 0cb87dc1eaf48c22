import { useEffect, useRef, useState } from 'preact/hooks'
import type { EvidenceEvent } from '../../client/index.ts'
import { Failure } from '../components/notice.tsx'
import { Facts, Hash, SendStatus, Time } from '../components/values.tsx'
import { changesOf, type Change, type EventChanges, type FileChange } from '../event-changes.ts'
import { eventName, fieldName } from '../event-names.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'

const PAGE_EVENTS = 50
/** The pause between two reads while an event is not confirmed. */
const REFRESH_MS = 2_000

/** The history of an evidence. Reads it again at once if `reads` grows. */
export function Timeline({ externalId, reads }: { readonly externalId: string; readonly reads: number }) {
  const t = texts.evidence
  const { events, isMore, error, loadMore, retry } = useHistory(externalId, reads)
  const changes = changesOf(events)
  return (
    <section class="card">
      <h2>{t.history}</h2>
      {error !== undefined && <Failure error={error} retry={retry} />}
      <ol class="timeline">
        {events.map((event, i) => (
          <TimelineEvent key={event.version} event={event} changes={changes[i] ?? NO_CHANGES} />
        ))}
      </ol>
      {isMore && <button onClick={loadMore}>{texts.more}</button>}
    </section>
  )
}

/**
 * The events that are loaded, oldest first. Those from the first that is not confirmed are read again and again, so
 * that P, S and C change in front of the user.
 */
function useHistory(externalId: string, reads: number) {
  const { client } = useSession()
  const [events, setEvents] = useState<readonly EvidenceEvent[]>([])
  const [isMore, setMore] = useState(false)
  const [error, setError] = useState<unknown>()
  /** How many events the user wants to see. */
  const wanted = useRef(PAGE_EVENTS)
  const running = useRef<AbortController>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const stop = (): void => {
    running.current?.abort()
    clearTimeout(timer.current)
  }
  /** Reads the events after those that are known. Ends a read that is running, whose result would be older. */
  const load = async (known: readonly EvidenceEvent[]): Promise<void> => {
    stop()
    const abort = new AbortController()
    running.current = abort
    try {
      const loaded = [...known]
      let page
      // The service cuts a long page.
      do {
        const range = { last: loaded.at(-1)?.version ?? 0, len: wanted.current - loaded.length }
        page = await client.getEvidence({ externalId, ...range, disclose: true }, abort)
        if (abort.signal.aborted) return
        loaded.push(...page.events)
      } while (page.isMore && loaded.length < wanted.current)
      setEvents(loaded)
      setMore(page.isMore)
      setError(undefined)
      const unconfirmed = loaded.findIndex(({ merkleSendStatus }) => merkleSendStatus !== 'C')
      if (unconfirmed !== -1) timer.current = setTimeout(() => void load(loaded.slice(0, unconfirmed)), REFRESH_MS)
    } catch (failure) {
      if (!abort.signal.aborted) setError(failure)
    }
  }
  useEffect(() => {
    // From the beginning: the deletion of a file also changes the event that attached it.
    void load([])
    return stop
  }, [client, externalId, reads])
  const loadMore = (): void => {
    wanted.current = events.length + PAGE_EVENTS
    void load(events)
  }
  return { events, isMore, error, loadMore, retry: () => void load([]) }
}

const NO_CHANGES: EventChanges = { values: [], files: [] }

interface TimelineEventProps {
  readonly event: EvidenceEvent
  readonly changes: EventChanges
}

function TimelineEvent({ event, changes: { values, files } }: TimelineEventProps) {
  const t = texts.evidence
  const { type, updateType, version, timestamp, merkleSendStatus, merkleBatchId } = event
  return (
    <li>
      <div class="row">
        <strong>{eventName(type, updateType)}</strong>
        <span class="muted">
          {t.version(version)} · <Time at={timestamp} />
        </span>
        <SendStatus status={merkleSendStatus} />
      </div>
      {values.length > 0 && <ValueChanges changes={values} isFirst={type === 'create'} />}
      {files.length > 0 && <FileChanges changes={files} />}
      <Facts
        of={[
          [t.persona, event.personaName],
          [texts.form.eventDescription, event.eventDescription],
          [texts.form.updateActionDescription, event.updateDescription],
          [
            'txId',
            <a href={hrefOf(['log', event.txId])}>
              <Hash value={event.txId} />
            </a>,
          ],
          [t.batch, merkleBatchId === null ? undefined : <Hash value={merkleBatchId} />],
        ]}
      />
    </li>
  )
}

interface ValueChangesProps {
  readonly changes: readonly Change[]
  /** Of the creation only the values are shown. */
  readonly isFirst: boolean
}

function ValueChanges({ changes, isFirst }: ValueChangesProps) {
  return (
    <table class="changes" aria-label={texts.evidence.changes}>
      <tbody>
        {changes.map(({ name, before, after }) => (
          <tr key={name}>
            <th scope="row">
              <bdi>{fieldName(name.replace(/^meta\./, ''))}</bdi>
            </th>
            <td>
              {!isFirst && (
                <>
                  <del>
                    <bdi>{shownValue(before)}</bdi>
                  </del>{' '}
                  →{' '}
                </>
              )}
              <ins>
                <bdi>{shownValue(after)}</bdi>
              </ins>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const shownValue = (value: unknown): string =>
  value === undefined ? texts.none : typeof value === 'string' ? value : JSON.stringify(value)

function FileChanges({ changes }: { readonly changes: readonly FileChange[] }) {
  const t = texts.evidence
  return (
    <ul class="plain">
      {changes.map(({ kind, fileId, name, sha256 }) => (
        <li key={fileId}>
          {t.fileChanges[kind]} <bdi>{name ?? fileId}</bdi>
          {sha256 !== undefined && (
            <>
              {' '}
              <span class="muted">SHA-256</span> <Hash value={sha256} />
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

import type { EvidenceEvent } from '../../client/index.ts'
import { PageList } from '../components/notice.tsx'
import { usePages, type Page } from '../components/use-pages.ts'
import { Facts, Hash, SendStatus, Time } from '../components/values.tsx'
import { changesOf, statusOf, type Change, type EventChanges, type FileChange } from '../event-changes.ts'
import { eventName, fieldName } from '../event-names.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'

const PAGE_EVENTS = 50

/** The history of an evidence, from the beginning again if `changes` grows: a deletion also changes an older event. */
export function Timeline({ externalId, changes }: { readonly externalId: string; readonly changes: number }) {
  const { client } = useSession()
  const list = usePages<EvidenceEvent, Page<EvidenceEvent>>(
    {
      pageItems: PAGE_EVENTS,
      async readPage({ last, len }, signal) {
        const request = { externalId, last: last?.version ?? 0, len, disclose: true }
        const { events, isMore } = await client.getEvidence(request, { signal })
        return { items: events, isMore }
      },
      settled: confirmedOf,
    },
    { of: [client, externalId], changes },
  )
  return (
    <section class="card">
      <h2>{texts.evidence.history}</h2>
      <PageList of={list}>{(events) => <EventList events={events} />}</PageList>
    </section>
  )
}

/** The number of events before the first one that is not confirmed; `undefined` if all are. */
function confirmedOf(events: readonly EvidenceEvent[]): number | undefined {
  const confirmed = events.findIndex(({ merkleSendStatus }) => merkleSendStatus !== 'C')
  return confirmed === -1 ? undefined : confirmed
}

/** The events, oldest first, with what each changed. */
function EventList({ events }: { readonly events: readonly EvidenceEvent[] }) {
  const changes = changesOf(events)
  return (
    <ol class="timeline">
      {events.map((event, i) => (
        <TimelineEvent key={event.version} event={event} changes={changes[i] ?? NO_CHANGES} />
      ))}
    </ol>
  )
}

const NO_CHANGES: EventChanges = { values: [], files: [] }

interface TimelineEventProps {
  readonly event: EvidenceEvent
  readonly changes: EventChanges
}

/** One event: what it was, what it changed, and how far it is proven. */
function TimelineEvent({ event, changes: { values, files } }: TimelineEventProps) {
  const t = texts.evidence
  const { type, updateType, version, timestamp, merkleSendStatus, merkleBatchId } = event
  return (
    <li>
      <div class="row">
        <strong>{eventName(type, updateType, statusOf(event))}</strong>
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

/** The values before and after. */
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

/** The files that were attached or deleted. */
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

import { useEffect } from 'preact/hooks'
import type { EvidenceEvent } from '../../client/index.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { Card, PageList } from '../components/notice.tsx'
import { usePages, type Page } from '../components/use-pages.ts'
import { Facts, Hash, LongText, SendStatus, Time } from '../components/values.tsx'
import { changesOf, statusOf, type Change, type EventChanges, type FileChange } from '../event-changes.ts'
import { eventName, fieldName } from '../event-names.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'

const PAGE_EVENTS = 50
/** The most that one request returns. */
const MAX_EVENTS = 500
/** More than a history has. */
export const AFTER_ALL = 1_000_000_000

interface TimelineProps {
  readonly externalId: string
  readonly changes: number
  /** What the rest of the page shows. */
  readonly lastVersion: number
  /** The history has a newer event than the rest of the page. */
  readonly onNewer: () => unknown
}

/**
 * The history of an evidence, newest first. It is read again until all events are confirmed, and if `changes` grows: a
 * deletion also changes an older event.
 */
export function Timeline({ externalId, changes, lastVersion, onNewer }: TimelineProps) {
  const { client } = useSession()
  const list = usePages<EvidenceEvent, Page<EvidenceEvent>>(
    {
      pageItems: PAGE_EVENTS,
      async readPage({ last, len }, signal) {
        const newest =
          last?.version ?? (await client.getEvidence({ externalId, last: AFTER_ALL }, { signal })).lastVersion + 1
        const first = Math.max(0, newest - 1 - Math.min(len, MAX_EVENTS))
        const request = { externalId, last: first, len: newest - 1 - first, disclose: true }
        const { events } = await client.getEvidence(request, { signal })
        return { items: events.toReversed(), isMore: first > 0 }
      },
      mayChange: (events) => events.some(({ merkleSendStatus }) => merkleSendStatus !== 'C'),
    },
    { of: [client, externalId], changes },
  )
  const newest = list.items[0]?.version ?? 0
  useEffect(() => {
    if (newest > lastVersion) onNewer()
  }, [newest])
  return (
    <Card title={texts.evidence.history} aside={texts.evidence.newestFirst} id="history">
      <PageList of={list}>{(events) => <EventList events={events} />}</PageList>
    </Card>
  )
}

/** The events, newest first, with what each changed. Of what older events set that are not read, nothing is said. */
function EventList({ events }: { readonly events: readonly EvidenceEvent[] }) {
  const changes = changesOf(events.toReversed()).toReversed()
  const isWhole = events.at(-1)?.version === 1
  return (
    <ol class="timeline">
      {events.map((event, i) => (
        <TimelineEvent key={event.version} event={event} changes={changes[i] ?? NO_CHANGES} isWhole={isWhole} />
      ))}
    </ol>
  )
}

const NO_CHANGES: EventChanges = { values: [], files: [] }

interface TimelineEventProps {
  readonly event: EvidenceEvent
  readonly changes: EventChanges
  /** All events before it are known. */
  readonly isWhole: boolean
}

const SIGNS: Readonly<Record<string, IconName>> = {
  create: 'plus',
  transfer: 'transfer',
  stolen: 'warning',
  repair: 'repair',
  addfile: 'attach',
  deletefile: 'cross',
}

interface EventSignProps {
  readonly type: string
  readonly updateType?: string | undefined
  /** The one that the event set. */
  readonly status: unknown
}

/** What an event was, as a sign. */
export function EventSign({ type, updateType, status }: EventSignProps) {
  const isFound = updateType === 'stolen' && status === 'active'
  const tone = isFound ? 'proven' : updateType === 'stolen' ? 'stolen' : ''
  return (
    <span class={`sign ${tone}`}>
      <Icon name={isFound ? 'found' : (SIGNS[updateType ?? type] ?? 'edit')} />
    </span>
  )
}

/** One event: what it was, what it changed, and how far it is proven. */
function TimelineEvent({ event, changes: { values, files }, isWhole }: TimelineEventProps) {
  const t = texts.evidence
  const { type, updateType, version, timestamp, merkleSendStatus, personaName } = event
  return (
    <li>
      <EventSign type={type} updateType={updateType} status={statusOf(event)} />
      <div class="row">
        <h3 class="wrap">{eventName(type, updateType, statusOf(event))}</h3>
        <span class="end">
          <SendStatus status={merkleSendStatus} />
        </span>
      </div>
      <p class="small muted">
        {t.version(version)} · {personaName && <bdi>{personaName} · </bdi>}
        <Time at={timestamp} isAge />
      </p>
      {values.length > 0 && <ValueChanges changes={values} isFirst={type === 'create'} isWhole={isWhole} />}
      {[event.updateDescription, event.eventDescription].map((said) => said && <LongText key={said} text={said} />)}
      {event.erased?.map(({ field, file = '', at }) => (
        <p key={field + file} class="small muted">
          {t.erased(fieldName(field))} <Time at={at} />
        </p>
      ))}
      <Hashes event={event} files={files} />
    </li>
  )
}

/** The files and ids of an event, folded. */
function Hashes({ event, files }: { readonly event: EvidenceEvent; readonly files: readonly FileChange[] }) {
  const t = texts.evidence
  const { merkleBatchId } = event
  return (
    <details class="small">
      <summary>
        <Icon name="down" />
        {t.hashes(files.length)}
      </summary>
      {files.length > 0 && <FileChanges changes={files} />}
      <Facts
        of={[
          [
            'txId',
            <a href={hrefOf(['log', event.txId])}>
              <Hash value={event.txId} />
            </a>,
          ],
          [texts.log.batch, merkleBatchId === null ? undefined : <Hash value={merkleBatchId} />],
        ]}
      />
    </details>
  )
}

interface ValueChangesProps {
  readonly changes: readonly Change[]
  /** Of the creation only the values are shown. */
  readonly isFirst: boolean
  readonly isWhole: boolean
}

/** The values before and after. */
function ValueChanges({ changes, isFirst, isWhole }: ValueChangesProps) {
  return (
    <table class="changes" aria-label={texts.evidence.changes}>
      <tbody>
        {changes.map(({ name, before, after }) => (
          <tr key={name}>
            <th scope="row">
              <bdi>{fieldName(name.replace(/^meta\./, ''))}</bdi>
            </th>
            <td>
              {!isFirst && (isWhole || before !== undefined) && (
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
    <ul class="rows">
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

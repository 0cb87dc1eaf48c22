import { useEffect, useMemo, useState } from 'preact/hooks'
import type { EvidenceEvent } from '../../client/index.ts'
import { Failure } from '../components/notice.tsx'
import { Facts, Hash, SendStatus, Time } from '../components/values.tsx'
import { changesOf, type Change, type EventChanges, type FileChange } from '../event-changes.ts'
import { eventName, fieldName } from '../event-names.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { HistoryReader, type HistoryReaderOptions, type LoadedHistory } from './history-reader.ts'

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

/** The events that are loaded. They are read again while one of them is not confirmed. */
function useHistory(externalId: string, reads: number) {
  const { client } = useSession()
  const [history, setHistory] = useState<LoadedHistory>({ events: [], isMore: false })
  const [error, setError] = useState<unknown>()
  const reader = useMemo(() => {
    const readPage: HistoryReaderOptions['readPage'] = (range, signal) =>
      client.getEvidence({ externalId, ...range, disclose: true }, { signal })
    const onRead = (read: LoadedHistory): void => {
      setHistory(read)
      setError(undefined)
    }
    return new HistoryReader({ readPage, onRead, onError: setError })
  }, [client, externalId])
  useEffect(() => {
    reader.read()
    return () => reader.stop()
  }, [reader, reads])
  return { ...history, error, loadMore: () => reader.readMore(), retry: () => reader.read() }
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

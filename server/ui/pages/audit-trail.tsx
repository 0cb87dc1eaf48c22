import { useEffect, useRef, useState } from 'preact/hooks'
import type { AuditEntry, SourceSystem } from '../../client/index.ts'
import { Failure } from '../components/notice.tsx'
import { Table, type Column } from '../components/table.tsx'
import { Time } from '../components/values.tsx'
import { formatTime } from '../format.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'

const PAGE_ENTRIES = 50

interface AuditTrailProps {
  /** Reads again if it grows. */
  readonly changes: number
  readonly systems: readonly SourceSystem[]
}

/** Who created, changed and rotated keys, and which keys were rejected. */
export function AuditTrail({ changes, systems }: AuditTrailProps) {
  const t = texts.systems
  const { client } = useSession()
  /** `undefined` until the first response. */
  const [entries, setEntries] = useState<readonly AuditEntry[]>()
  const [isMore, setMore] = useState(false)
  const [error, setError] = useState<unknown>()
  const running = useRef<AbortController>(undefined)
  /** Reads the entries after those that are known. Ends a read that is running, whose result would be older. */
  const load = async (known: readonly AuditEntry[] = []): Promise<void> => {
    running.current?.abort()
    const abort = new AbortController()
    running.current = abort
    try {
      const last = known.at(-1)?.id
      const page = await client.listAudit({ len: PAGE_ENTRIES, ...(last !== undefined && { last }) }, abort)
      if (abort.signal.aborted) return
      setEntries([...known, ...page.entries])
      setMore(page.isMore)
      setError(undefined)
    } catch (failure) {
      if (!abort.signal.aborted) setError(failure)
    }
  }
  useEffect(() => {
    void load()
    return () => running.current?.abort()
  }, [client, changes])
  const nameOf: NameOf = (systemId) => systems.find(({ id }) => id === systemId)?.name ?? systemId
  const columns: readonly Column<AuditEntry>[] = [
    { title: t.when, cell: ({ at }) => <Time at={at} /> },
    { title: t.what, cell: ({ type }) => t.auditTypes[type] },
    { title: t.who, cell: (entry) => <bdi>{actorOf(entry, nameOf)}</bdi> },
    { title: t.details, cell: (entry) => <bdi>{detailsOf(entry, nameOf)}</bdi> },
  ]
  return (
    <section>
      <h2>{t.audit}</h2>
      {error !== undefined && <Failure error={error} retry={() => void load(entries)} />}
      {entries === undefined && error === undefined && <p role="status">{texts.loading}</p>}
      {entries?.length === 0 && <p class="muted">{t.auditEmpty}</p>}
      {entries && entries.length > 0 && (
        <Table label={t.audit} columns={columns} items={entries} keyOf={({ id }) => id} />
      )}
      {isMore && <button onClick={() => void load(entries)}>{texts.more}</button>}
    </section>
  )
}

/** The name of a source system, or its id if it is not among those that are listed. */
type NameOf = (systemId: string) => string

const actorOf = (entry: AuditEntry, nameOf: NameOf): string =>
  'actor' in entry ? nameOf(entry.actor) : (entry.address ?? texts.none)

function detailsOf(entry: AuditEntry, nameOf: NameOf): string {
  const t = texts.systems
  if (entry.type === 'fileToken') return [entry.fileId, t.times(entry.count)].join(', ')
  if (entry.type === 'rejected') {
    const system = entry.systemId === undefined ? [] : [nameOf(entry.systemId)]
    return [t.rejectedReasons[entry.reason], ...system, t.times(entry.count)].join(', ')
  }
  const name = nameOf(entry.systemId)
  if (entry.type !== 'rotated')
    return [name, ...Object.entries(entry.values).map(([field, value]) => `${field}: ${value}`)].join(', ')
  const { replacedKeyEndsAt } = entry
  return replacedKeyEndsAt === undefined ? name : `${name}, ${t.oldKeyUntil} ${formatTime(replacedKeyEndsAt)}`
}

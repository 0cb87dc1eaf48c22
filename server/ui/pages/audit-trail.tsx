import type { AuditEntry, SourceSystem } from '../../client/index.ts'
import { PageList } from '../components/notice.tsx'
import { Table, type Column } from '../components/table.tsx'
import { usePages, type Page } from '../components/use-pages.ts'
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
  const list = usePages<AuditEntry, Page<AuditEntry>>(
    {
      pageItems: PAGE_ENTRIES,
      async readPage({ last, len }, signal) {
        const { entries, isMore } = await client.listAudit({ len, ...(last && { last: last.id }) }, { signal })
        return { items: entries, isMore }
      },
    },
    { of: [client], changes },
  )
  const nameOf: NameOf = (systemId) => systems.find(({ id }) => id === systemId)?.name ?? systemId
  const columns: readonly Column<AuditEntry>[] = [
    { title: t.when, cell: ({ at }) => <Time at={at} /> },
    { title: t.what, cell: ({ type }) => t.auditTypes[type] },
    { title: t.who, cell: (entry) => <bdi>{actorOf(entry, nameOf)}</bdi> },
    { title: texts.details, cell: (entry) => <bdi>{detailsOf(entry, nameOf)}</bdi> },
  ]
  return (
    <section>
      <h2>{t.audit}</h2>
      <PageList of={list} empty={<p class="muted">{t.auditEmpty}</p>}>
        {(entries) => <Table label={t.audit} columns={columns} items={entries} keyOf={({ id }) => id} />}
      </PageList>
    </section>
  )
}

/** The name of a source system, or its id if it is not among those that are listed. */
type NameOf = (systemId: string) => string

const actorOf = (entry: AuditEntry, nameOf: NameOf): string =>
  'actor' in entry ? nameOf(entry.actor) : (entry.address ?? texts.none)

/** What belongs to the type of an entry, in one line. */
function detailsOf(entry: AuditEntry, nameOf: NameOf): string {
  const t = texts.systems
  if (entry.type === 'fileToken') return [entry.fileId, t.times(entry.count)].join(', ')
  if ('shareId' in entry) return `${t.linkOf} ${entry.evidenceId}`
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

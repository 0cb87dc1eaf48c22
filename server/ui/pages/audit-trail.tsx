import type { ComponentChildren } from 'preact'
import type { AuditEntry, SourceSystem } from '../../client/index.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { Card, PageList } from '../components/notice.tsx'
import { usePages, type Page } from '../components/use-pages.ts'
import { Hash, Time } from '../components/values.tsx'
import { formatTime } from '../format.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'

const PAGE_ENTRIES = 50

interface AuditTrailProps {
  /** Reads again if it grows. */
  readonly changes: number
  readonly nameOf: NameOf
}

/** Who created, changed and rotated keys, and which keys were rejected. */
export function AuditTrail({ changes, nameOf }: AuditTrailProps) {
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
  return (
    <Card title={t.audit}>
      <PageList of={list} empty={<p class="muted">{t.auditEmpty}</p>}>
        {(entries) => (
          <ul class="lines" aria-label={t.audit}>
            {entries.map((entry, i) => (
              <Happened key={entry.id} entry={entry} older={entries.slice(i + 1)} nameOf={nameOf} />
            ))}
          </ul>
        )}
      </PageList>
    </Card>
  )
}

/** The name of a source system, or its id if it is not known. */
export type NameOf = (systemId: string) => string

export const namesOf =
  (systems: readonly SourceSystem[]): NameOf =>
  (systemId) =>
    systemId === 'operator' ? texts.systems.operator : (systems.find(({ id }) => id === systemId)?.name ?? systemId)

/** The names that the newest of some entries leave: a source system may have got another one since. */
const namesIn =
  (entries: readonly AuditEntry[], nameOf: NameOf): NameOf =>
  (systemId) => {
    const names = entries.map((each) => 'values' in each && each.systemId === systemId && each.values.name)
    return names.find(Boolean) || nameOf(systemId)
  }

interface HappenedProps {
  readonly entry: AuditEntry
  readonly older: readonly AuditEntry[]
  readonly nameOf: NameOf
}

/** What happened, below it who did it, and when. */
function Happened({ entry, older, nameOf }: HappenedProps) {
  const [verb, object, rest] = sentenceOf(entry, namesIn(entry.type === 'created' ? [entry] : older, nameOf))
  return (
    <li>
      <span class="sign">
        <Icon name={iconOf(entry)} />
      </span>
      <div class="text">
        {verb} {object}
        {rest}
        <div class="small muted">
          <bdi>{'actor' in entry ? nameOf(entry.actor) : (entry.address ?? texts.systems.somebody)}</bdi>,{' '}
          <Time at={entry.at} isAge />
        </div>
      </div>
    </li>
  )
}

const iconOf = (entry: AuditEntry): IconName =>
  'shareId' in entry ? 'link' : entry.type === 'rejected' ? 'warning' : entry.type === 'fileToken' ? 'file' : 'key'

/** A sentence without its subject. Its object is named by the user. */
type Sentence = readonly [verb: string, object: ComponentChildren, rest?: string | false]

function sentenceOf(entry: AuditEntry, nameOf: NameOf): Sentence {
  const t = texts.systems.did
  const times = 'count' in entry && entry.count > 1 && t.times(entry.count)
  if (entry.type === 'fileToken') return [t.fileToken, <Hash value={entry.fileId} isShort />, times]
  if ('shareId' in entry) return [t[entry.type], <a href={hrefOf(['verify', entry.evidenceId])}>{t.aRecord}</a>]
  const name = <b dir="auto">{entry.systemId === undefined ? t.unknownKey : nameOf(entry.systemId)}</b>
  if (entry.type === 'rejected') return [t.rejected[entry.reason], name, times]
  if (entry.type === 'rotated') return [t.rotated, name, oldKeyOf(entry.replacedKeyEndsAt)]
  return [verbOf(entry), name, valuesOf(entry)]
}

/** What becomes of a replaced key. */
const oldKeyOf = (endsAt: string | undefined): string =>
  endsAt === undefined ? texts.systems.did.oldKeyEnded : texts.systems.did.oldKeyUntil(formatTime(endsAt))

type Changed = Extract<AuditEntry, { readonly type: 'created' | 'changed' }>

/** What was done to a source system. */
function verbOf({ type, values: { name, active } }: Changed): string {
  const t = texts.systems.did
  if (type === 'created') return t.created
  if (name !== undefined) return t.renamed
  return active === undefined ? t.changed : active ? t.reactivated : t.deactivated
}

/** What a source system is after that. */
function valuesOf({ type, values: { name, permissions, active, expiresAt, clear } }: Changed): string {
  const t = texts.systems.did
  const values = [
    permissions && texts.levels[permissions],
    name && active !== undefined && (active ? t.active : t.inactive),
    expiresAt && t.expires(formatTime(expiresAt)),
    clear && t.endless,
  ].filter(Boolean)
  const to = type === 'changed' && name !== undefined ? t.to(name) : ''
  return to + (values.length === 0 ? '' : t.which(values.join(t.and)))
}

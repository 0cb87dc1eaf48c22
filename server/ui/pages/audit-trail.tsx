import { useEffect, useState } from 'preact/hooks'
import type { AuditEntry } from '../../client/index.ts'
import { Failure } from '../components/notice.tsx'
import { Time } from '../components/values.tsx'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'

const PAGE_ENTRIES = 50

/** Who created, changed and rotated keys, and which keys were rejected. Reads again if `changes` grows. */
export function AuditTrail({ changes }: { readonly changes: number }) {
  const t = texts.systems
  const { client } = useSession()
  const [entries, setEntries] = useState<readonly AuditEntry[]>([])
  const [isMore, setMore] = useState(false)
  const [error, setError] = useState<unknown>()
  const load = async (known: readonly AuditEntry[]): Promise<void> => {
    try {
      const last = known.at(-1)?.id
      const page = await client.listAudit({ len: PAGE_ENTRIES, ...(last !== undefined && { last }) })
      setEntries([...known, ...page.entries])
      setMore(page.isMore)
      setError(undefined)
    } catch (failure) {
      setError(failure)
    }
  }
  useEffect(() => void load([]), [client, changes])
  return (
    <section>
      <h2>{t.audit}</h2>
      {error !== undefined && <Failure error={error} retry={() => void load(entries)} />}
      {entries.length === 0 ? (
        <p class="muted">{t.auditEmpty}</p>
      ) : (
        <div class="card table-wrap" tabIndex={0} role="region" aria-label={t.audit}>
          <table>
            <thead>
              <tr>
                {[t.when, t.what, t.who, t.details].map((column) => (
                  <th key={column} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {entries.map((entry) => (
                <tr key={entry.id}>
                  <td>
                    <Time at={entry.at} />
                  </td>
                  <td>{t.auditTypes[entry.type]}</td>
                  <td>{actorOf(entry)}</td>
                  <td>{detailsOf(entry)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isMore && <button onClick={() => void load(entries)}>{texts.more}</button>}
    </section>
  )
}

const actorOf = (entry: AuditEntry): string => ('actor' in entry ? entry.actor : (entry.address ?? texts.none))

function detailsOf(entry: AuditEntry): string {
  const t = texts.systems
  if (entry.type === 'fileToken') return [entry.fileId, t.times(entry.count)].join(', ')
  if (entry.type === 'rejected')
    return [t.rejectedReasons[entry.reason], entry.systemId ?? '', t.times(entry.count)].filter(Boolean).join(', ')
  if (entry.type !== 'rotated')
    return [entry.systemId, ...Object.entries(entry.values).map(([name, value]) => `${name}: ${value}`)].join(', ')
  const { systemId, replacedKeyEndsAt } = entry
  return replacedKeyEndsAt === undefined ? systemId : `${systemId}, ${t.oldKeyUntil} ${replacedKeyEndsAt}`
}

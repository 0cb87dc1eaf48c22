import { useState } from 'preact/hooks'
import { EvidenceRegistryError, type SourceSystem, type SourceSystemList } from '../../client/index.ts'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { useLoad } from '../components/use-load.ts'
import { Badge, Time } from '../components/values.tsx'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { AuditTrail } from './audit-trail.tsx'
import { SourceSystemDialog, type SystemAction } from './source-system-dialogs.tsx'

const NO_SYSTEMS: SourceSystemList = { sourceSystems: [], count: 0 }

/** Administration > Source Systems: the API keys of a company. */
export function SourceSystemsPage() {
  const t = texts.systems
  const { client } = useSession()
  const [action, setAction] = useState<SystemAction>()
  const systems = useLoad(
    (signal) =>
      client.listSourceSystems({}, { signal }).catch((error: unknown) => {
        // Creating its first source system creates the company.
        if (error instanceof EvidenceRegistryError && error.code === 'COMPANY_NOT_FOUND') return NO_SYSTEMS
        throw error
      }),
    [client],
  )
  const [changes, setChanges] = useState(0)
  const closeDialog = (hasChanged: boolean): void => {
    setAction(undefined)
    if (!hasChanged) return
    systems.reload()
    setChanges(changes + 1)
  }
  return (
    <>
      <p class="muted">{t.area}</p>
      <div class="head">
        <h1>{t.title}</h1>
        <button class="primary" onClick={() => setAction({ type: 'create' })}>
          {t.create}
        </button>
      </div>
      <WhenLoaded of={systems}>
        {({ sourceSystems }) =>
          sourceSystems.length === 0 ? (
            <Notice tone="warn">{t.empty}</Notice>
          ) : (
            <SystemTable systems={sourceSystems} onAction={setAction} />
          )
        }
      </WhenLoaded>
      <AuditTrail changes={changes} />
      {action && <SourceSystemDialog action={action} onClose={closeDialog} />}
    </>
  )
}

interface SystemTableProps {
  readonly systems: readonly SourceSystem[]
  readonly onAction: (action: SystemAction) => void
}

function SystemTable({ systems, onAction }: SystemTableProps) {
  const t = texts.systems
  const columns = [t.name, t.level, t.state, t.created, t.lastUsed, t.expires, t.actions]
  return (
    <div class="card table-wrap" tabIndex={0} role="region" aria-label={t.title}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {systems.map((system) => (
            <SystemRow key={system.id} system={system} onAction={onAction} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface SystemRowProps {
  readonly system: SourceSystem
  readonly onAction: (action: SystemAction) => void
}

function SystemRow({ system, onAction }: SystemRowProps) {
  const t = texts.systems
  const { name, permissions, createdAt, lastUsedAt, expiresAt, replacedKeyEndsAt, active } = system
  const button = (type: 'rotate' | 'edit' | 'deactivate' | 'reactivate') => (
    <button onClick={() => onAction({ type, system })} aria-label={`${t[type]}: ${name}`}>
      {t[type]}
    </button>
  )
  return (
    <tr>
      <th scope="row">{name}</th>
      <td title={texts.levelHints[permissions]}>
        {permissions} · {texts.levels[permissions]}
      </td>
      <td>
        <SystemState system={system} />
      </td>
      <td>
        <Time at={createdAt} />
      </td>
      <td>{lastUsedAt ? <Time at={lastUsedAt} /> : t.never}</td>
      <td>
        {expiresAt ? <Time at={expiresAt} /> : t.noExpiry}
        {replacedKeyEndsAt && Date.parse(replacedKeyEndsAt) > Date.now() && (
          <div class="muted">
            {t.oldKeyUntil} <Time at={replacedKeyEndsAt} />
          </div>
        )}
      </td>
      <td>
        <span class="row">
          {button('rotate')}
          {button('edit')}
          {button(active ? 'deactivate' : 'reactivate')}
        </span>
      </td>
    </tr>
  )
}

function SystemState({ system: { active, expiresAt } }: { readonly system: SourceSystem }) {
  const t = texts.systems
  if (!active) return <Badge tone="bad">{t.inactive}</Badge>
  const isExpired = expiresAt !== undefined && Date.parse(expiresAt) <= Date.now()
  return isExpired ? <Badge tone="warn">{t.expired}</Badge> : <Badge tone="good">{t.active}</Badge>
}

import { useState } from 'preact/hooks'
import type { SourceSystem, SourceSystemList } from '../../client/index.ts'
import { openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { Table, type Column } from '../components/table.tsx'
import { useLoad } from '../components/use-load.ts'
import { Badge, Time } from '../components/values.tsx'
import { insteadOf } from '../failure.ts'
import { useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { AuditTrail, namesOf } from './audit-trail.tsx'
import { Erasures } from './erasures.tsx'
import { ActivationDialog, CreateDialog, EditDialog, RotateDialog } from './source-system-dialogs.tsx'

const NO_SYSTEMS: SourceSystemList = { sourceSystems: [], count: 0 }

/** Access: the keys of a company. */
export function SourceSystemsPage() {
  const t = texts.systems
  const { client, companyId } = useSession()
  const systems = useLoad(
    // Creating its first source system creates the company.
    (signal) => client.listSourceSystems({}, { signal }).catch(insteadOf('COMPANY_NOT_FOUND', NO_SYSTEMS)),
    [client],
  )
  const [changes, setChanges] = useState(0)
  const reload = (): Promise<void> => {
    setChanges((count) => count + 1)
    return systems.reload()
  }
  const known = systems.loaded.state === 'done' ? systems.loaded.value.sourceSystems : []
  const nameOf = namesOf(known)
  return (
    <>
      <div class="head">
        <div>
          <h1>{t.title}</h1>
          <p class="small muted">{t.intro(companyId)}</p>
        </div>
        <button class="primary" onClick={() => openDialog(<CreateDialog onDone={reload} />)}>
          <Icon name="plus" />
          {t.create}
        </button>
      </div>
      <WhenLoaded of={systems}>
        {({ sourceSystems }) =>
          sourceSystems.length === 0 ? (
            <Notice tone="pending">{t.empty}</Notice>
          ) : (
            <SystemTable systems={sourceSystems} onChange={reload} />
          )
        }
      </WhenLoaded>
      {known.length > 0 && <Erasures nameOf={nameOf} />}
      <AuditTrail changes={changes} nameOf={nameOf} />
    </>
  )
}

interface SystemTableProps {
  readonly systems: readonly SourceSystem[]
  readonly onChange: () => unknown
}

/** The keys, with what can be done with each. */
function SystemTable({ systems, onChange }: SystemTableProps) {
  const t = texts.systems
  const own = useSession().system
  const columns: readonly Column<SourceSystem>[] = [
    { title: t.key, cell: (system) => <SystemName system={system} /> },
    {
      title: t.level,
      cell: ({ permissions }) => <span title={texts.levelHints[permissions]}>{texts.levels[permissions]}</span>,
    },
    {
      title: t.lastUsed,
      cell: ({ id, lastUsedAt }) => (id === own.id ? t.isYou : lastUsedAt ? <Time at={lastUsedAt} isAge /> : t.never),
    },
    { title: t.expires, cell: (system) => <Expiry system={system} /> },
    {
      title: texts.evidence.actions,
      kind: 'end',
      cell: (system) => <SystemMenu system={system} onDone={onChange} />,
    },
  ]
  return (
    <Table
      label={t.title}
      columns={columns}
      items={systems}
      keyOf={({ id }) => id}
      classOf={({ active }) => (active ? '' : 'off')}
      hasRowNames
    />
  )
}

/** Whose key it is, and since when. */
const SystemName = ({ system: { name, active, createdAt } }: { readonly system: SourceSystem }) => (
  <>
    <bdi>{name}</bdi> {!active && <Badge icon="power">{texts.systems.inactive}</Badge>}
    <div class="small muted">
      {texts.systems.made} <Time at={createdAt} isAge />
    </div>
  </>
)

const SOON_MS = 14 * 86_400_000

/** When the key ends, and a replaced one that still works. */
function Expiry({ system: { expiresAt, replacedKeyEndsAt } }: { readonly system: SourceSystem }) {
  const t = texts.systems
  const leftMs = expiresAt === undefined ? Infinity : Date.parse(expiresAt) - Date.now()
  const end = expiresAt === undefined ? t.never : <Time at={expiresAt} isAge />
  return (
    <>
      {leftMs > SOON_MS ? (
        end
      ) : (
        <Badge tone="pending" icon="clock">
          {leftMs <= 0 && t.expired} {end}
        </Badge>
      )}
      {replacedKeyEndsAt && Date.parse(replacedKeyEndsAt) > Date.now() && (
        <div class="small muted">
          {t.oldKeyUntil} <Time at={replacedKeyEndsAt} />
        </div>
      )}
    </>
  )
}

/** What can be done with a key. */
function SystemMenu(of: { readonly system: SourceSystem; readonly onDone: () => unknown }) {
  const t = texts.systems
  const { name, active } = of.system
  return (
    <Menu
      name={name}
      items={[
        { icon: 'rotate', text: t.rotate, hint: t.rotateHint, dialog: <RotateDialog {...of} /> },
        { icon: 'edit', text: texts.edit, hint: t.editHint, dialog: <EditDialog {...of} /> },
        {
          icon: 'power',
          text: active ? t.deactivate : t.reactivate,
          hint: active ? t.deactivateHint : undefined,
          dialog: <ActivationDialog {...of} />,
        },
      ]}
    />
  )
}

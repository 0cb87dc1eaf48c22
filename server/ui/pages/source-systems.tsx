import { useState } from 'preact/hooks'
import type { SourceSystem, SourceSystemList } from '../../client/index.ts'
import { DialogButton, openDialog } from '../components/dialog.tsx'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { Table, type Column } from '../components/table.tsx'
import { useLoad } from '../components/use-load.ts'
import { Badge, Time } from '../components/values.tsx'
import { insteadOf } from '../failure.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { AuditTrail } from './audit-trail.tsx'
import { ActivationDialog, CreateDialog, EditDialog, RotateDialog } from './source-system-dialogs.tsx'

const NO_SYSTEMS: SourceSystemList = { sourceSystems: [], count: 0 }

/** Administration > Source Systems: the API keys of a company. */
export function SourceSystemsPage() {
  const t = texts.systems
  const { client } = useSession()
  const systems = useLoad(
    // Creating its first source system creates the company.
    (signal) => client.listSourceSystems({}, { signal }).catch(insteadOf('COMPANY_NOT_FOUND', NO_SYSTEMS)),
    [client],
  )
  const [changes, setChanges] = useState(0)
  const reload = (): void => {
    systems.reload()
    setChanges((count) => count + 1)
  }
  return (
    <>
      <p class="muted">{t.area}</p>
      <div class="head">
        <h1>{t.title}</h1>
        <button class="primary" onClick={() => openDialog(<CreateDialog onDone={reload} />)}>
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
      <AuditTrail
        changes={changes}
        systems={systems.loaded.state === 'done' ? systems.loaded.value.sourceSystems : []}
      />
    </>
  )
}

interface SystemTableProps {
  readonly systems: readonly SourceSystem[]
  readonly onChange: () => void
}

/** The source systems, with what can be done with each. */
function SystemTable({ systems, onChange }: SystemTableProps) {
  const t = texts.systems
  const columns: readonly Column<SourceSystem>[] = [
    { title: texts.fields.name, cell: ({ name }) => <bdi>{name}</bdi> },
    {
      title: t.level,
      cell: ({ permissions }) => (
        <span title={texts.levelHints[permissions]}>
          {permissions} · {texts.levels[permissions]}
        </span>
      ),
    },
    { title: texts.fields.status, cell: (system) => <SystemState system={system} /> },
    { title: texts.evidence.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: t.lastUsed, cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : t.never) },
    { title: t.expires, cell: (system) => <Expiry system={system} /> },
    { title: texts.evidence.actions, cell: (system) => <SystemActions system={system} onDone={onChange} /> },
  ]
  return <Table label={t.title} columns={columns} items={systems} keyOf={({ id }) => id} hasRowNames />
}

/** When the key ends, and a replaced one that still works. */
function Expiry({ system: { expiresAt, replacedKeyEndsAt } }: { readonly system: SourceSystem }) {
  const t = texts.systems
  return (
    <>
      {expiresAt ? <Time at={expiresAt} /> : t.never}
      {replacedKeyEndsAt && Date.parse(replacedKeyEndsAt) > Date.now() && (
        <div class="muted">
          {t.oldKeyUntil} <Time at={replacedKeyEndsAt} />
        </div>
      )}
    </>
  )
}

/** The buttons of a row. */
function SystemActions(of: { readonly system: SourceSystem; readonly onDone: () => void }) {
  const t = texts.systems
  const { name, active } = of.system
  return (
    <span class="row">
      <DialogButton text={t.rotate} name={name} dialog={<RotateDialog {...of} />} />
      <DialogButton text={texts.edit} name={name} dialog={<EditDialog {...of} />} />
      <DialogButton text={active ? t.deactivate : t.reactivate} name={name} dialog={<ActivationDialog {...of} />} />
    </span>
  )
}

/** Active, inactive or expired. */
function SystemState({ system: { active, expiresAt } }: { readonly system: SourceSystem }) {
  const t = texts.systems
  if (!active) return <Badge tone="stolen">{t.inactive}</Badge>
  const isExpired = expiresAt !== undefined && Date.parse(expiresAt) <= Date.now()
  return isExpired ? <Badge tone="pending">{t.expired}</Badge> : <Badge tone="proven">{t.active}</Badge>
}

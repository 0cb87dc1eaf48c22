import { useState } from 'preact/hooks'
import type { Permission, SourceSystem } from '../../client/index.ts'
import { Dialog } from '../components/dialog.tsx'
import { Form, SelectField, TextField, useForm } from '../components/form.tsx'
import { Notice } from '../components/notice.tsx'
import { CopyButton } from '../components/values.tsx'
import { toRfc3339, withoutEmpty } from '../format.ts'
import { hasLevel, useSession } from '../session.ts'
import { texts } from '../texts.ts'

/** What the user does with a source system. */
export type SystemAction =
  | { readonly type: 'create' }
  | { readonly type: 'rotate' | 'edit' | 'deactivate' | 'reactivate'; readonly system: SourceSystem }

interface DialogProps<A extends SystemAction> {
  readonly action: A
  /** `hasChanged`: the list must be read again. */
  readonly onClose: (hasChanged: boolean) => void
}

type OfSystem = DialogProps<Exclude<SystemAction, { type: 'create' }>>

export function SourceSystemDialog({ action, onClose }: DialogProps<SystemAction>) {
  if (action.type === 'create') return <CreateDialog onClose={onClose} />
  if (action.type === 'rotate') return <RotateDialog action={action} onClose={onClose} />
  if (action.type === 'edit') return <EditDialog action={action} onClose={onClose} />
  return <ActivationDialog action={action} onClose={onClose} />
}

/** The new key, shown once. */
function NewKey({ apiKey, onClose }: { readonly apiKey: string; readonly onClose: () => void }) {
  const t = texts.systems
  return (
    <Dialog title={t.keyTitle} onClose={onClose}>
      <Notice tone="warn">{t.keyOnce}</Notice>
      <pre data-testid="new-key">{apiKey}</pre>
      <p class="row">
        <CopyButton text={apiKey} />
        <button class="primary" onClick={onClose}>
          {texts.close}
        </button>
      </p>
    </Dialog>
  )
}

/** The levels that the session's key may grant: none above its own. */
function LevelField({
  value,
  onChange,
  problem,
}: {
  value: Permission
  onChange: (level: Permission) => void
  problem?: string | undefined
}) {
  const session = useSession()
  const levels = (['R', 'I', 'U', 'A'] as const).filter((level) => hasLevel(session, level))
  return (
    <SelectField
      label={texts.systems.level}
      value={value}
      onChange={(level) => onChange(levels.find((each) => each === level) ?? value)}
      choices={levels.map((level) => [level, `${level} · ${texts.levels[level]}: ${texts.levelHints[level]}`])}
      problem={problem}
    />
  )
}

const FIELDS = ['name', 'permissions', 'expiresAt', 'apiKey', 'graceSeconds']

function CreateDialog({ onClose }: { readonly onClose: (hasChanged: boolean) => void }) {
  const t = texts.systems
  const { client } = useSession()
  const form = useForm(FIELDS)
  const [name, setName] = useState('')
  const [permissions, setPermissions] = useState<Permission>('U')
  const [expiresAt, setExpiresAt] = useState('')
  const [apiKey, setApiKey] = useState<string>()
  const create = async (): Promise<void> => {
    const key = randomKey()
    await client.createSourceSystem({
      name,
      apiKey: key,
      permissions,
      ...withoutEmpty({ expiresAt: toRfc3339(expiresAt) }),
    })
    setApiKey(key)
  }
  if (apiKey !== undefined) return <NewKey apiKey={apiKey} onClose={() => onClose(true)} />
  return (
    <Dialog title={t.create} onClose={() => onClose(false)}>
      <Form form={form} action={create} submitText={t.create} onCancel={() => onClose(false)}>
        <TextField label={t.name} value={name} onChange={setName} problem={form.problemOf('name')} />
        <LevelField value={permissions} onChange={setPermissions} problem={form.problemOf('permissions')} />
        <ExpiryField value={expiresAt} onChange={setExpiresAt} problem={form.problemOf('expiresAt')} />
      </Form>
    </Dialog>
  )
}

function ExpiryField(props: { value: string; onChange: (value: string) => void; problem: string | undefined }) {
  return <TextField {...props} label={texts.systems.expires} hint={texts.systems.expiryHint} type="datetime-local" />
}

function EditDialog({ action: { system }, onClose }: OfSystem) {
  const t = texts.systems
  const { client } = useSession()
  const form = useForm(FIELDS)
  const [name, setName] = useState(system.name)
  const [permissions, setPermissions] = useState(system.permissions)
  const [expiresAt, setExpiresAt] = useState('')
  const change = async (): Promise<void> => {
    await client.updateSourceSystem({
      systemId: system.id,
      ...(name !== system.name && { name }),
      ...(permissions !== system.permissions && { permissions }),
      ...withoutEmpty({ expiresAt: toRfc3339(expiresAt) }),
    })
    onClose(true)
  }
  return (
    <Dialog title={t.editTitle(system.name)} onClose={() => onClose(false)}>
      <Form form={form} action={change} submitText={texts.save} onCancel={() => onClose(false)}>
        <TextField label={t.name} value={name} onChange={setName} problem={form.problemOf('name')} />
        <LevelField value={permissions} onChange={setPermissions} problem={form.problemOf('permissions')} />
        <ExpiryField value={expiresAt} onChange={setExpiresAt} problem={form.problemOf('expiresAt')} />
      </Form>
    </Dialog>
  )
}

const KEY_BYTES = 32

/**
 * A key as the service generates keys: 256 random bits, base64url. It is made here, because the API generates keys only
 * on creation, and does not return them again if the response is lost and the request is repeated.
 */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

function RotateDialog({ action: { system }, onClose }: OfSystem) {
  const t = texts.systems
  const { client } = useSession()
  const form = useForm(FIELDS)
  const [graceSeconds, setGraceSeconds] = useState('86400')
  const [apiKey, setApiKey] = useState<string>()
  const rotate = async (): Promise<void> => {
    const key = randomKey()
    await client.updateSourceSystem({ systemId: system.id, apiKey: key, graceSeconds: Number(graceSeconds) })
    setApiKey(key)
  }
  if (apiKey !== undefined) return <NewKey apiKey={apiKey} onClose={() => onClose(true)} />
  return (
    <Dialog title={t.rotateTitle(system.name)} onClose={() => onClose(false)}>
      <p>{t.rotateIntro}</p>
      <Form form={form} action={rotate} submitText={t.rotate} onCancel={() => onClose(false)}>
        <SelectField
          label={t.grace}
          value={graceSeconds}
          onChange={setGraceSeconds}
          choices={Object.entries(t.graceChoices)}
          problem={form.problemOf('graceSeconds')}
        />
      </Form>
    </Dialog>
  )
}

function ActivationDialog({ action: { type, system }, onClose }: OfSystem) {
  const t = texts.systems
  const { client } = useSession()
  const form = useForm([])
  const isDeactivation = type === 'deactivate'
  const change = async (): Promise<void> => {
    await client.updateSourceSystem({ systemId: system.id, active: !isDeactivation })
    onClose(true)
  }
  const title = isDeactivation ? t.deactivateTitle(system.name) : `${t.reactivate}: ${system.name}`
  return (
    <Dialog title={title} onClose={() => onClose(false)}>
      {isDeactivation && <p>{t.deactivateIntro}</p>}
      <Form
        form={form}
        action={change}
        submitText={isDeactivation ? t.deactivate : t.reactivate}
        onCancel={() => onClose(false)}
      />
    </Dialog>
  )
}

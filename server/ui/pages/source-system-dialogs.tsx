import { useState } from 'preact/hooks'
import type { SourceSystem } from '../../client/index.ts'
import { FormDialog } from '../components/dialog.tsx'
import { CheckField, SelectField, TextField } from '../components/fields.tsx'
import { ShownOnce } from '../components/shown-once.tsx'
import { useForm, type FormTexts } from '../components/use-form.ts'
import { CopyButton } from '../components/values.tsx'
import { insteadOf } from '../failure.ts'
import { formatTime, toRfc3339, withoutEmpty } from '../format.ts'
import { API_URL, hasLevel, LEVELS, useSession } from '../session.ts'
import * as texts from '../texts/index.ts'

interface OfSystem {
  readonly system: SourceSystem
  readonly onDone: () => unknown
}

/** The new key, shown once. */
export function NewKey({ apiKey, onDone }: { readonly apiKey: string; readonly onDone?: () => unknown }) {
  const t = texts.systems
  const { companyId } = useSession()
  return (
    <ShownOnce title={t.keyTitle} kept={t.keyStored} closeText={texts.close} onDone={onDone}>
      <p>{t.keyOnce}</p>
      <code class="key" data-testid="new-key">
        {apiKey}
      </code>
      <div class="row">
        <CopyButton text={apiKey} label={t.copyKey} />
        <CopyButton text={`EVIDENCE_API_KEY=${apiKey}`} label={t.copyEnv} />
        <CopyButton
          text={`curl -H 'x-api-key: ${apiKey}' ${API_URL}/sourceSystem/${companyId}/self`}
          label={t.copyCurl}
        />
      </div>
      <p class="small muted">{t.keyPractice}</p>
    </ShownOnce>
  )
}

const NEW_SYSTEM = { name: '', permissions: 'U', expiresAt: '' }

interface SystemFieldsProps {
  readonly form: FormTexts<keyof typeof NEW_SYSTEM>
  /** The present expiry. */
  readonly expiresAt?: string | undefined
}

/** The fields of a new or an existing source system. The session's key may grant no level above its own. */
function SystemFields({ form: { props }, expiresAt }: SystemFieldsProps) {
  const t = texts.systems
  const session = useSession()
  const levels = LEVELS.filter((level) => hasLevel(session, level))
  const choices = levels.map((level) => [level, `${texts.levels[level]}: ${texts.levelHints[level]}`] as const)
  const hint = expiresAt === undefined ? t.expiryHint : t.expiresNow(formatTime(expiresAt))
  return (
    <>
      <TextField label={texts.fields.name} isRequired {...props('name')} />
      <SelectField label={t.level} choices={choices} {...props('permissions')} />
      <TextField label={t.expires} hint={hint} type="datetime-local" {...props('expiresAt')} />
    </>
  )
}

/** What the texts of the fields mean to the API. */
const systemOf = ({ name, permissions, expiresAt }: typeof NEW_SYSTEM) => ({
  name,
  permissions: LEVELS.find((level) => level === permissions) ?? 'R',
  ...withoutEmpty({ expiresAt: toRfc3339(expiresAt) }),
})

/** Name, level and expiry of a new source system. */
export function CreateDialog({ onDone }: Pick<OfSystem, 'onDone'>) {
  const t = texts.systems
  const { client } = useSession()
  const form = useForm(NEW_SYSTEM)
  return (
    <NewKeyDialog
      title={t.create}
      form={form}
      action={(apiKey) => {
        const system = { apiKey, ...systemOf(form.values) }
        return client.createSourceSystem(system, { idempotencyKey: form.keyOf(system) })
      }}
      submitText={t.create}
      onDone={onDone}
    >
      <SystemFields form={form} />
    </NewKeyDialog>
  )
}

/** Sends only what was changed. */
export function EditDialog({ system, onDone }: OfSystem) {
  const t = texts.systems
  const { client } = useSession()
  const [isEndless, setEndless] = useState(false)
  const form = useForm({ name: system.name, permissions: system.permissions, expiresAt: '' })
  const change = (): Promise<unknown> => {
    const { name, permissions, ...expiry } = systemOf(form.values)
    return client.updateSourceSystem({
      systemId: system.id,
      ...(name !== system.name && { name }),
      ...(permissions !== system.permissions && { permissions }),
      ...(isEndless ? { clear: ['expiresAt'] as const } : expiry),
    })
  }
  return (
    <FormDialog title={texts.editTitle(system.name)} form={form} action={change} onDone={onDone}>
      <SystemFields form={form} expiresAt={system.expiresAt} />
      {system.expiresAt && <CheckField label={t.endless} isChecked={isEndless} onChange={setEndless} />}
    </FormDialog>
  )
}

const KEY_BYTES = 32

/**
 * A key as the service generates keys: 256 random bits, base64url. It is made here, because the API generates keys only
 * on creation, and does not return them again if the response is lost and the request is repeated.
 */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

interface NewKeyDialogProps extends Omit<Parameters<typeof FormDialog>[0], 'action'> {
  readonly action: (apiKey: string) => Promise<unknown>
}

/** A form that sends a new key, which is shown afterwards. */
function NewKeyDialog({ action, ...dialog }: NewKeyDialogProps) {
  const [apiKey] = useState(randomKey)
  return <FormDialog {...dialog} action={() => action(apiKey)} next={<NewKey apiKey={apiKey} />} />
}

/** A new key, and how long the old one keeps working. */
export function RotateDialog({ system, onDone }: OfSystem) {
  const t = texts.systems
  const { client } = useSession()
  const form = useForm({ graceSeconds: '86400' })
  // Nobody else has a key that was made here: if it exists, it was recorded, and its response was lost.
  const rotate = (apiKey: string): Promise<unknown> =>
    client
      .updateSourceSystem({ systemId: system.id, apiKey, graceSeconds: Number(form.values.graceSeconds) })
      .catch(insteadOf('KEY_EXISTS', undefined))
  return (
    <NewKeyDialog
      title={t.rotateTitle(system.name)}
      intro={t.rotateIntro}
      form={form}
      action={rotate}
      submitText={t.rotate}
      onDone={onDone}
    >
      <SelectField label={t.grace} choices={Object.entries(t.graceChoices)} {...form.props('graceSeconds')} />
    </NewKeyDialog>
  )
}

/** Asks before a key stops working, or works again. */
export function ActivationDialog({ system: { id, name, active }, onDone }: OfSystem) {
  const t = texts.systems
  const { client } = useSession()
  return (
    <FormDialog
      title={active ? t.deactivateTitle(name) : `${t.reactivate}: ${name}`}
      intro={active && t.deactivateIntro}
      form={useForm({})}
      action={() => client.updateSourceSystem({ systemId: id, active: !active })}
      submitText={active ? t.deactivate : t.reactivate}
      onDone={onDone}
    />
  )
}

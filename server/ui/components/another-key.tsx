import { remember, remembered, signIn, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { Dialog } from './dialog.tsx'
import { TextField } from './fields.tsx'
import { Form } from './form.tsx'
import { useForm } from './use-form.ts'

interface AnotherKeyProps {
  readonly session: Session
  readonly onSession: (session: Session) => void
  readonly onSignOut: () => void
}

/** Asks for another key in place of one that has ended, over everything else: what was typed below it stays. */
export function AnotherKey({ session, onSession, onSignOut }: AnotherKeyProps) {
  const t = texts.anotherKey
  const form = useForm({ apiKey: '' })
  const change = async (): Promise<void> => {
    const next = await signIn({ companyId: session.companyId, apiKey: form.values.apiKey })
    if (remembered() !== undefined) remember(next)
    onSession(next)
  }
  return (
    <Dialog title={t.title} canClose={false}>
      <p>{t.intro(session.system.name)}</p>
      <Form form={form} action={change} submitText={t.go}>
        <TextField label={texts.signIn.key} type="password" autocomplete="current-password" {...form.props('apiKey')} />
      </Form>
      <button class="link" onClick={onSignOut}>
        {texts.nav.signOut}
      </button>
    </Dialog>
  )
}

import { useState } from 'preact/hooks'
import { remember, remembered, signIn, type Session } from '../session.ts'
import { texts } from '../texts.ts'
import { TextField } from './fields.tsx'
import { Failure } from './notice.tsx'
import type { Submission } from './use-form.ts'

interface AnotherKeyProps {
  readonly session: Session
  readonly onSession: (session: Session) => void
  readonly form: Submission
}

/** A key in place of one that has ended, above the form that it rejected: what was typed into it stays. */
export function AnotherKey({ session, onSession, form }: AnotherKeyProps) {
  const [apiKey, setKey] = useState('')
  const change = async (): Promise<void> => {
    const next = await signIn({ companyId: session.companyId, apiKey })
    if (remembered() !== undefined) remember(next)
    onSession(next)
  }
  return (
    <form class="stack" onSubmit={form.submit(change)} noValidate>
      <Failure error={form.error} />
      <TextField
        label={texts.signIn.key}
        type="password"
        autocomplete="current-password"
        value={apiKey}
        onChange={setKey}
      />
      <div class="row actions">
        <button type="submit" disabled={form.isBusy}>
          {texts.nav.signIn}
        </button>
      </div>
    </form>
  )
}

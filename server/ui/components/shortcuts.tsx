import { useEffect, useState } from 'preact/hooks'
import { navigate } from '../router.ts'
import { hasLevel, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { Dialog, openDialog } from './dialog.tsx'
import { CheckField } from './fields.tsx'
import { Facts } from './values.tsx'

/** Set if the user switched the keys off: some people press keys by accident (WCAG 2.1.4). */
const OFF = 'evidence-registry.keys-off'

/** What single keys do, unless a field has the focus or a dialog is open; and their list, where they are switched. */
export function Shortcuts({ session }: { readonly session: Session }) {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { target, key } = event
      if (!isOn() || event.ctrlKey || event.metaKey || event.altKey) return
      if (target instanceof Element && target.closest('input, select, textarea, dialog') !== null) return
      const run = ACTIONS[key]
      if (run === undefined) return
      event.preventDefault()
      run(session)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [session])
  return (
    <>
      {' · '}
      <button class="link" onClick={showKeys}>
        {texts.keys.title}
      </button>
    </>
  )
}

const isOn = (): boolean => !localStorage.getItem(OFF)

const showKeys = (): void => openDialog(<KeysDialog />)

function KeysDialog() {
  const t = texts.keys
  const [isChecked, setChecked] = useState(isOn)
  const change = (next: boolean): void => {
    localStorage.setItem(OFF, next ? '' : 'off')
    setChecked(next)
  }
  return (
    <Dialog title={t.title}>
      <Facts of={Object.entries(t.does).map(([key, what]) => [<kbd>{key}</kbd>, what])} />
      <CheckField label={t.use} isChecked={isChecked} onChange={change} />
    </Dialog>
  )
}

const ACTIONS: Readonly<Record<string, (session: Session) => void>> = {
  t: () => document.querySelector<HTMLElement>('.age')?.click(),
  '/': () => {
    const field = document.querySelector<HTMLInputElement>('input[type=search]')
    if (field === null) navigate(['evidences'], { search: '1' })
    else field.focus()
  },
  c: (session) => hasLevel(session, 'I') && navigate(['new-evidence']),
  j: () => move(1),
  k: () => move(-1),
  '?': showKeys,
}

/** Gives the focus to another row of the list; Enter opens it, because it is a link. */
function move(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main .stretched')]
  const at = rows.findIndex((row) => row === document.activeElement)
  rows[at < 0 ? 0 : at + by]?.focus()
}

import { useEffect } from 'preact/hooks'
import { navigate } from '../router.ts'
import { hasLevel, type Session } from '../session.ts'

/** `/` goes to the search field, `c` to a new evidence. Not while a field has the focus or a dialog is open. */
export function useShortcuts(session: Session | undefined): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { target, key } = event
      if (session === undefined || event.ctrlKey || event.metaKey || event.altKey) return
      if (target instanceof Element && target.closest('input, select, textarea, dialog') !== null) return
      if (key === '/') {
        event.preventDefault()
        const field = document.querySelector<HTMLInputElement>('input[type=search]')
        if (field === null) navigate(['evidences'], { search: '1' })
        else field.focus()
      } else if (key === 'c' && hasLevel(session, 'I')) {
        event.preventDefault()
        navigate(['new-evidence'])
      }
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [session])
}

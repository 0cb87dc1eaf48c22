import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'
import { createStore } from './store.ts'

interface Message {
  readonly text: string
  /** The one thing to do next. */
  readonly action: string
  readonly run: () => void
}

const SHOWN_MS = 6_000

/** Says what was recorded. Errors are never toasts: they stay where they can be corrected. */
export const toast = (message: Message): void => newest.set(message)

const newest = createStore<Message | undefined>(undefined)

/** The newest message, for six seconds, and for as long as it is hovered or has the focus. */
export function Toast() {
  const message = newest.use()
  const [isHeld, setHeld] = useState(false)
  useLayoutEffect(() => setHeld(false), [message])
  useEffect(() => {
    if (isHeld) return undefined
    const timer = setTimeout(() => newest.set(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [message, isHeld])
  const hold = (): void => setHeld(true)
  const release = (): void => setHeld(false)
  return (
    <div role="status" class="no-print" onMouseOver={hold} onMouseOut={release} onFocusIn={hold} onFocusOut={release}>
      {message && (
        <p class="flex wide-gap toast">
          <Icon name="tick" />
          {message.text}
          <button class="link quiet" onClick={message.run}>
            <b>{message.action}</b>
          </button>
        </p>
      )}
    </div>
  )
}

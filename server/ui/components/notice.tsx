import type { ComponentChildren } from 'preact'
import { messageOf } from '../failure.ts'
import { texts } from '../texts.ts'
import type { Loading } from './use-load.ts'

export type Tone = 'good' | 'warn' | 'bad'

/** A message. Screen readers announce it, errors at once. */
export function Notice({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  )
}

/** An error with what to do about it. */
export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  return (
    <Notice tone="bad">
      {messageOf(error)} {retry && <button onClick={retry}>{texts.retry}</button>}
    </Notice>
  )
}

interface WhenLoadedProps<T> {
  readonly of: Loading<T>
  readonly children: (value: T) => ComponentChildren
}

/** Shows what was loaded, or that it is loading, or why it failed. */
export function WhenLoaded<T>({ of: { loaded, reload }, children }: WhenLoadedProps<T>) {
  if (loaded.state === 'loading') return <p role="status">{texts.loading}</p>
  if (loaded.state === 'failed') return <Failure error={loaded.error} retry={reload} />
  return <>{children(loaded.value)}</>
}

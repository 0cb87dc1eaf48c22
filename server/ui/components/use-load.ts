import { useCallback, useEffect, useState } from 'preact/hooks'

/** The state of something that is loaded. */
export type Loaded<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: unknown }
  | { readonly state: 'done'; readonly value: T }

export interface Loading<T> {
  readonly loaded: Loaded<T>
  /** Loads again. What was loaded before stays visible until then. */
  readonly reload: () => void
}

/**
 * Loads something when the component appears, and again if `dependencies` change. A request whose result is not needed
 * any more is aborted.
 */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, dependencies: readonly unknown[]): Loading<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: 'loading' })
  const [attempt, setAttempt] = useState(0)
  useEffect(() => setLoaded({ state: 'loading' }), dependencies)
  useEffect(() => {
    const abort = new AbortController()
    const ifNeeded = (next: Loaded<T>): void => {
      if (!abort.signal.aborted) setLoaded(next)
    }
    load(abort.signal).then(
      (value) => ifNeeded({ state: 'done', value }),
      (error: unknown) => ifNeeded({ state: 'failed', error }),
    )
    return () => abort.abort()
  }, [...dependencies, attempt])
  const reload = useCallback(() => setAttempt((count) => count + 1), [])
  return { loaded, reload }
}

/** Runs something again and again while the component is shown and `isOn`. */
export function useEvery(pauseMs: number, run: () => void, isOn = true): void {
  useEffect(() => {
    if (!isOn) return undefined
    const timer = setInterval(run, pauseMs)
    return () => clearInterval(timer)
  }, [isOn, run])
}

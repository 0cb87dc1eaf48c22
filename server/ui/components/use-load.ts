import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { isOutage } from '../failure.ts'

/** The pause before a load is repeated that failed for a reason that passes. */
const REPEAT_MS = 10_000

/** The state of something that is loaded. */
export type Loaded<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: unknown }
  /** `error`: why it could not be loaded again. */
  | { readonly state: 'done'; readonly value: T; readonly error?: unknown }

export interface Loading<T> {
  readonly loaded: Loaded<T>
  /** Loads again, and waits for it, also if it fails. What was loaded before stays visible until then. */
  readonly reload: () => Promise<void>
  /** As `reload`, but lets a load that runs come to its end: it may take longer than the pause of `useEvery`. */
  readonly refresh: () => void
}

/**
 * Loads something when the component appears, and again if `dependencies` change. A request whose result is not needed
 * any more is aborted. While the server cannot be reached, the load is repeated, and what was loaded before stays.
 */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, dependencies: readonly unknown[]): Loading<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: 'loading' })
  const [attempt, setAttempt] = useState(0)
  const isRunning = useRef(false)
  const waiting = useRef<(() => void)[]>([])
  const reload = useCallback(() => {
    setAttempt((count) => count + 1)
    return new Promise<void>((resolve) => waiting.current.push(resolve))
  }, [])
  const refresh = useCallback(() => void (isRunning.current || reload()), [])
  useEffect(() => setLoaded({ state: 'loading' }), dependencies)
  useEffect(() => {
    const abort = new AbortController()
    isRunning.current = true
    // Calls from here on wait for the next load.
    const asked = waiting.current.splice(0)
    let timer: ReturnType<typeof setTimeout> | undefined
    const fail = (error: unknown): void => {
      if (isOutage(error)) timer = setTimeout(reload, REPEAT_MS)
      setLoaded((before) =>
        before.state === 'done' && isOutage(error) ? { ...before, error } : { state: 'failed', error },
      )
    }
    const end = (show: () => void): void => {
      if (abort.signal.aborted) return
      isRunning.current = false
      show()
      for (const resolve of asked) resolve()
    }
    load(abort.signal).then(
      (value) => end(() => setLoaded({ state: 'done', value })),
      (error: unknown) => end(() => fail(error)),
    )
    return () => {
      abort.abort()
      waiting.current.push(...asked)
      clearTimeout(timer)
    }
  }, [...dependencies, attempt])
  return { loaded, reload, refresh }
}

/** Runs something again and again while the component is shown and `isOn`. */
export function useEvery(pauseMs: number, run: () => void, isOn = true): void {
  useEffect(() => {
    if (!isOn) return undefined
    const timer = setInterval(run, pauseMs)
    return () => clearInterval(timer)
  }, [isOn, run])
}

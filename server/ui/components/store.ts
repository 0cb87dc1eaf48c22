import { useLayoutEffect, useState } from 'preact/hooks'

/** A value that anything can set, such as the dialog that is open. */
export interface Store<T> {
  readonly set: (value: T) => void
  /** A hook: the value, also when it changes. */
  readonly use: () => T
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    set(next) {
      value = next
      for (const listener of listeners) listener()
    },
    use() {
      const [shown, setShown] = useState(() => value)
      useLayoutEffect(() => {
        const listener = (): void => setShown(() => value)
        listeners.add(listener)
        return () => void listeners.delete(listener)
      }, [])
      return shown
    },
  }
}

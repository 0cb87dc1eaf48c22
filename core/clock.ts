import type { Clock } from './ports.ts'

/** The machine's clock. A sleep keeps the process alive: whoever sleeps is closed, or aborted. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error)
      const onAbort = (): void => {
        clearTimeout(timer)
        reject(signal?.reason as Error)
      }
      // setTimeout takes no more than 2^31 - 1 ms, and fires at once beyond it.
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
        Math.min(Math.max(ms, 0), 2 ** 31 - 1),
      )
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
}

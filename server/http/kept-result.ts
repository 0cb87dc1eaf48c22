/** Returns a function that calls an operation once and keeps its result. If it fails, the next call tries again. */
export function keptResult<T>(operation: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () =>
    (result ??= operation().catch((error: unknown) => {
      result = undefined
      throw error
    }))
}

/**
 * A body of which some chunks were read: yields them, then the rest. A generator would not release the rest if it is
 * returned before its first chunk.
 */
export function resumed(
  read: Uint8Array[],
  rest: AsyncIterator<Uint8Array, unknown>,
): AsyncIterableIterator<Uint8Array, undefined> {
  const body: AsyncIterableIterator<Uint8Array, undefined> = {
    [Symbol.asyncIterator]: () => body,
    async next() {
      const value = read.shift()
      if (value !== undefined) return { done: false, value }
      const step = await rest.next()
      return step.done === true ? { done: true, value: undefined } : step
    },
    async return() {
      read.length = 0
      await rest.return?.()
      return { done: true, value: undefined }
    },
  }
  return body
}

import type { Cacheable } from '../api/scope.ts'

/** What a caller has cached of a result: an unchanged result is not made again. */

/** Adds what a result was made of. Not enumerable, because results are also documents. */
export const withState = <T extends object>(result: T, state: object): T & Cacheable =>
  Object.defineProperty(result, 'state', { value: state })

/** Whether what is cached has a state of this kind. `member`: one that no other kind has. */
export const hasState = <S extends object>(
  cached: Cacheable | undefined,
  member: keyof S,
): cached is { readonly state: S } => cached?.state !== undefined && member in cached.state

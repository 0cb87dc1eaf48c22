import type { Known } from '../api/scope.ts'

/** What a caller knows of a result that it has read before: an unchanged result is not made again. */

/** Adds what a result was made of. Not enumerable, because results are also documents. */
export const withState = <T extends object>(result: T, state: object): T & Known =>
  Object.defineProperty(result, 'state', { value: state })

/** Whether what is known has a state of this kind. `member`: one that no other kind has. */
export const hasState = <S extends object>(known: Known | undefined, member: keyof S): known is { readonly state: S } =>
  known?.state !== undefined && member in known.state

import type { ErasedValue } from '../client/index.ts'
import { fieldName } from './event-names.ts'
import { formatUtcDate } from './format.ts'
import * as texts from './texts/index.ts'

/** What to show instead of a value that was erased; `undefined` if it was not. */
export function erasedOn(erased: readonly ErasedValue[] = [], field: string): string | undefined {
  const value = erased.find((each) => each.field === field)
  return value && texts.erasure.on(formatUtcDate(value.at))
}

/** The same for all that was erased, as rows. */
export const erasedRows = (erased: readonly ErasedValue[] = []) =>
  erased.map(({ field }) => [fieldName(field), erasedOn(erased, field)] as const)

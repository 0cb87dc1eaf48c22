import { isId } from '../ids.ts'

/** Inputs that may be written in several ways. Any other value is returned as it is, and fails its validation. */

/** Hex in either case, with or without `0x`: in lowercase, without it. */
export const hexInput = (text: string): string =>
  /^(?:0x)?[0-9a-f]+$/i.test(text) ? text.replace(/^0x/i, '').toLowerCase() : text

/** A UUID in either case: in lowercase. */
export function uuidInput(text: string): string {
  const id = text.toLowerCase()
  return isId(id) ? id : text
}

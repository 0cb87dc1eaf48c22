/** Inputs that may be written in several ways. Any other value is returned as it is, and fails its validation. */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Hex in either case, with or without `0x`: in lowercase, without it. */
export const hexInput = (text: string): string =>
  /^(?:0x)?[0-9a-f]+$/i.test(text) ? text.replace(/^0x/i, '').toLowerCase() : text

/** A UUID in either case: in lowercase. */
export const uuidInput = (text: string): string => (UUID.test(text) ? text.toLowerCase() : text)

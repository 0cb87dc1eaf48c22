import { decodeUtf8, RegistryError } from '../kit/index.ts'

/** What a file holds: one value, such as a key or a passphrase, or a JSON document. */
export type TextForm = 'value' | 'json'

/**
 * Returns the text of a file with a secret, a key or settings: strict UTF-8, without a byte order mark, without control
 * characters except the white space of JSON. Of a value, the line ends at the end of the file are left out. Other bytes
 * would be read as another secret than the file holds.
 *
 * @param bytes all bytes of the file
 * @returns the text
 * @throws RegistryError `CONFIG_ERROR` that says what is wrong with the file and what to do, and shows nothing of it
 * @example const passphrase = textOfFile(await readFile('/root/passphrase'), 'value')
 */
export function textOfFile(bytes: Uint8Array, form: TextForm): string {
  const text = wellFormed(bytes).replace(form === 'value' ? /^\uFEFF|(?:\r?\n)+$/g : /^\uFEFF/, '')
  if (!/\p{Cc}/u.test(form === 'value' ? text : text.replaceAll(/[\t\n\r]/g, ''))) return text
  throw unusable(
    form === 'value'
      ? 'it contains a control character, such as a tab or a second line: save only the value, as UTF-8'
      : 'it contains a control character: save it as UTF-8',
  )
}

function wellFormed(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes)
  } catch {
    throw unusable('it is not text in UTF-8: save it as UTF-8')
  }
}

const unusable = (reason: string): RegistryError => new RegistryError('CONFIG_ERROR', reason)

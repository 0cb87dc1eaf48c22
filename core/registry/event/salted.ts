import { concatBytes, shake256, toHex } from '../../bytes.ts'
import { sortedNames } from '../../commitment/canonical-json.ts'
import {
  attachedFileText,
  deletedFileText,
  type EventFile,
  fieldText,
  namedText,
  SALT_BYTES,
} from '../../commitment/event-format.ts'
import { corrupt, type RegistryError } from '../../errors.ts'
import { storedBase64, storedBytes } from '../../store/codec.ts'
import type { EventRecord, RemainingSalts } from '../../store/records.ts'

/** Names of fields or ids of files in the order of UTF-16 code units, and the text of each that is hashed. */
export interface Texts {
  readonly names: readonly string[]
  readonly texts: readonly string[]
}

/** What an event still has of what it commits to. */
export interface Salted {
  readonly fields: Texts
  readonly files: Texts
  /** Of the files map, of the fields, of the files: 32 bytes each. */
  readonly salts: Uint8Array
}

/** J of the values of fields, by name. Those that are `undefined` are left out. */
export type WrittenFields = Readonly<Record<string, string | undefined>>

const textOfFile = (_: string, file: EventFile): string =>
  'deleted' in file ? deletedFileText(file.id, file.deleted) : attachedFileText(file)

function textsBy<T>(
  values: Readonly<Record<string, T | undefined>>,
  textOf: (name: string, value: T) => string,
): Texts {
  const names: string[] = []
  const texts: string[] = []
  for (const name of sortedNames(values)) {
    const value = values[name]
    if (value === undefined) continue
    names.push(name)
    texts.push(textOf(name, value))
  }
  return { names, texts }
}

export const saltAt = (salts: Uint8Array, index: number): Uint8Array =>
  salts.subarray(index * SALT_BYTES, (index + 1) * SALT_BYTES)

/** A new event with the salts of this seed. */
export const saltedBy = (seed: Uint8Array, event: Pick<EventRecord, 'files'> & { readonly fields: WrittenFields }) =>
  withSeed(seed, textsBy(event.fields, namedText), textsBy(event.files, textOfFile))

/** With the salts that SHAKE256 makes of a seed. */
const withSeed = (seed: Uint8Array, fields: Texts, files: Texts): Salted => ({
  fields,
  files,
  salts: shake256(seed, SALT_BYTES * (1 + fields.names.length + files.names.length)),
})

/** With the salts that it has. Throws `CORRUPT` if the record is damaged. */
export function saltedOf(event: Pick<EventRecord, 'fields' | 'files' | 'salts'>): Salted {
  const { salts } = event
  const fields = textsBy(event.fields, fieldText)
  const files = textsBy(event.files, textOfFile)
  if (typeof salts === 'string') return withSeed(storedBase64(salts, 'A seed'), fields, files)
  const hex = [
    salts.filesSalt,
    ...fields.names.map((name) => saltOf(salts.fields, name)),
    ...files.names.map((id) => saltOf(salts.files, id)),
  ]
  return { fields, files, salts: concatBytes(...hex.map(bytesOf)) }
}

/** The salts as they are stored once the seed is gone. */
export function remainingSalts({ fields, files, salts }: Salted): RemainingSalts {
  const named = ({ names }: Texts, first: number) =>
    Object.fromEntries(names.map((name, i) => [name, toHex(saltAt(salts, first + i))]))
  return { filesSalt: toHex(saltAt(salts, 0)), fields: named(fields, 1), files: named(files, 1 + fields.names.length) }
}

export function saltOf(salts: Readonly<Record<string, string>>, name: string): string {
  const salt = salts[name]
  if (salt === undefined) throw damagedEvent(`no salt for ${name}`)
  return salt
}

export const bytesOf = (hex: string): Uint8Array => storedBytes(hex, 'A stored salt')

export const damagedEvent = (what: string): RegistryError => corrupt(`A stored event is damaged: ${what}`)

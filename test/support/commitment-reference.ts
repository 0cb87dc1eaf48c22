import { createHash } from 'node:crypto'

/**
 * The commitment of an event in format `v: 1`, implemented a second time from its definition, without code of core.
 * Slow, only for tests.
 */

export const H = (...parts: readonly Buffer[]): Buffer =>
  createHash('sha256')
    .update(Buffer.concat([...parts]))
    .digest()

export const T = (name: string): Buffer => Buffer.from(name.padEnd(16, '\0'), 'ascii')

export const u64 = (value: number): Buffer => Buffer.from(value.toString(16).padStart(16, '0'), 'hex')

/** Canonical JSON, only for plain texts and numbers. `sort` compares UTF-16 code units. */
export function J(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(J).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${J(member)}`).join(',')}}`
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex')
const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8')

export interface Salted {
  readonly text: string
  readonly salt: string
}

export const saltedHash = (tag: 'er1.field' | 'er1.file' | 'er1.files', { salt, text }: Salted): string =>
  H(T(tag), hex(salt), utf8(text)).toString('hex')

export const headerHash = (text: string): string => H(T('er1.header'), utf8(text)).toString('hex')

export const slotOf = (slotKey: string, version: number): string =>
  H(T('er1.slot'), hex(slotKey), u64(version)).toString('hex')

export interface Disclosed {
  readonly opening: string
  readonly header: string
  readonly filesText: string
  readonly filesSalt: string
  readonly fields: Readonly<Record<string, Salted>>
  readonly files: Readonly<Record<string, Salted>>
}

/** Computes the txId of a disclosure. Throws unless every disclosed field and file is in the header or the files. */
export function recompute({ opening, header, filesText, filesSalt, fields, files }: Disclosed) {
  const headerJson = JSON.parse(header) as {
    fields: Record<string, string>
    first: string | null
    prev: string | null
    log: string
    v: number
    version: number
  }
  const filesJson = JSON.parse(filesText) as Record<string, string>
  for (const [name, field] of Object.entries(fields)) {
    if (saltedHash('er1.field', field) !== headerJson.fields[name]) throw new Error(`field ${name} is not committed`)
    if ((JSON.parse(field.text) as unknown[])[0] !== name) throw new Error(`field ${name} has another name`)
  }
  for (const [id, file] of Object.entries(files)) {
    if (saltedHash('er1.file', file) !== filesJson[id]) throw new Error(`file ${id} is not committed`)
    if ((JSON.parse(file.text) as { id: string }).id !== id) throw new Error(`file ${id} has another name`)
  }
  const slot = opening.slice(32, 96)
  const time = Number(BigInt(`0x${opening.slice(96, 112)}`))
  const made = Buffer.concat([
    T('er1.event'),
    hex(slot),
    u64(time),
    hex(headerHash(header)),
    hex(saltedHash('er1.files', { salt: filesSalt, text: filesText })),
  ])
  if (made.toString('hex') !== opening) throw new Error('the opening does not result from the header and files')
  return {
    txId: H(made).toString('hex'),
    slot,
    time,
    header: headerJson,
    files: filesJson,
    values: Object.fromEntries(
      Object.entries(fields).map(([name, { text }]) => [name, (JSON.parse(text) as unknown[])[1]]),
    ),
  }
}

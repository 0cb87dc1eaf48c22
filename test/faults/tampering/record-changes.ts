import { ENTRY_ROWS, HEAD_KEY } from '../../../adapters/level/layout.ts'
import { BY_BYTES } from '../../support/level-bytes.ts'
import { withChecksum } from '../../../core/store/checksum.ts'
import { partsOfKey } from '../../../core/store/keys.ts'
import { pick, type Random } from '../../support/bundle-mutations.ts'
import { bytesOf, rowsOf, withDatabase, type Row } from './database.ts'
import type { Template } from './template.ts'

/** Changes of single records, below the record store. `forge` and `swap` give the new value a right CRC-32. */

const CRC_BYTES = 4
const ENTRY_BYTES = 32

const ACTIONS = ['flip', 'forge', 'forge', 'delete', 'swap', 'truncate', 'roll back', 'copy', 'reorder'] as const

/** Changes one record. Returns what was changed, or `undefined` if this change is not possible there. */
export async function changeRecord(directory: string, template: Template, random: Random): Promise<string | undefined> {
  return withDatabase(directory, async (db) => {
    const families = familiesOf(await rowsOf(db))
    const family = pick(random, [...families.keys()])
    const rows = families.get(family) ?? []
    const row = pick(random, rows)
    const action = pick(random, ACTIONS)
    const change = await changeOf(action, { row, rows, template, random })
    if (change === undefined) return undefined
    for (const { key, value } of change)
      await (value === null ? db.del(bytesOf(key), BY_BYTES) : db.put(bytesOf(key), value, BY_BYTES))
    return `${action} ${JSON.stringify(row.key)}${change.length > 1 ? ` and ${JSON.stringify(change[1]?.key)}` : ''}`
  })
}

/** Groups rows by family, so that a family with one record is changed as often as one with hundreds. */
function familiesOf(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const families = new Map<string, Row[]>()
  for (const row of rows) {
    const name = row.key.startsWith('\0') ? row.key.slice(0, HEAD_KEY.length - 1) : (partsOfKey(row.key)[0] ?? '')
    families.set(name, [...(families.get(name) ?? []), row])
  }
  return families
}

interface RecordChange {
  readonly row: Row
  /** Of the same family. */
  readonly rows: readonly Row[]
  readonly template: Template
  readonly random: Random
}

interface RowWrite {
  readonly key: string
  readonly value: Uint8Array | null
}

async function changeOf(
  action: (typeof ACTIONS)[number],
  { row, rows, template, random }: RecordChange,
): Promise<readonly RowWrite[] | undefined> {
  const { key, value } = row
  switch (action) {
    case 'flip':
      return [{ key, value: flipBit(value, random) }]
    case 'forge':
      return [{ key, value: sealed(row, forged(contentOf(row), random)) }]
    case 'delete':
      return [{ key, value: null }]
    case 'truncate':
      return [{ key, value: value.subarray(0, Math.floor(random() * value.length)) }]
    case 'swap':
      return swapped(row, pick(random, rows))
    case 'roll back':
      return rolledBack(row, template)
    case 'copy':
      return copied(row, rows, random)
    default:
      return reordered(row, random)
  }
}

function flipBit(value: Uint8Array, random: Random): Uint8Array {
  const out = Uint8Array.from(value)
  const at = Math.floor(random() * out.length)
  out[at] = (out[at] ?? 0) ^ (1 << Math.floor(random() * 8))
  return out
}

/** The head begins with the store's format, outside the envelope. */
const startOf = ({ key }: Row): number => (key === HEAD_KEY ? 1 : 0)
const contentOf = (row: Row): Uint8Array => row.value.subarray(startOf(row) + CRC_BYTES)
const sealed = (row: Row, content: Uint8Array): Uint8Array =>
  Buffer.concat([row.value.subarray(0, startOf(row)), withChecksum(bytesOf(row.key), content)])

/** Replaces a digit or a letter by another one, so that JSON stays JSON, or flips a bit. */
function forged(content: Uint8Array, random: Random): Uint8Array {
  const out = Uint8Array.from(content)
  const at = Math.floor(random() * out.length)
  const char = String.fromCharCode(out[at] ?? 0)
  const alphabet = /[0-9]/.test(char) ? '0123456789' : /[a-z]/.test(char) ? 'abcdefghijklmnopqrstuvwxyz' : ''
  const others = Array.from(alphabet).filter((other) => other !== char)
  if (others.length === 0 || random() < 0.2) return flipBit(content, random)
  out[at] = pick(random, others).charCodeAt(0)
  return out
}

function swapped(one: Row, other: Row): readonly RowWrite[] | undefined {
  if (one.key === other.key || Buffer.from(contentOf(one)).equals(contentOf(other))) return undefined
  return [
    { key: one.key, value: sealed(one, contentOf(other)) },
    { key: other.key, value: sealed(other, contentOf(one)) },
  ]
}

/** Gives the record the value that it had earlier, or removes it if it did not exist. */
async function rolledBack({ key, value }: Row, template: Template): Promise<readonly RowWrite[] | undefined> {
  const earlier = template.earlierRows.get(key)
  if (earlier === undefined) return [{ key, value: null }]
  return Buffer.from(earlier).equals(value) ? undefined : [{ key, value: earlier }]
}

/** Writes the value under another key of the family as well, which may be a new one. */
function copied(row: Row, rows: readonly Row[], random: Random): readonly RowWrite[] {
  const other = pick(random, rows).key
  const isNew = random() < 0.5 || other === row.key
  const last = other.charCodeAt(other.length - 1)
  const key = isNew ? `${other.slice(0, -1)}${String.fromCharCode(last === 0x30 ? 0x31 : last - 1)}` : other
  return [{ key, value: sealed({ key, value: row.value }, contentOf(row)) }]
}

/** Exchanges two entries of a row of the log. */
function reordered(row: Row, random: Random): readonly RowWrite[] | undefined {
  const content = contentOf(row)
  const count = content.length / ENTRY_BYTES
  if (!row.key.startsWith(ENTRY_ROWS) || count < 2) return undefined
  const out = Uint8Array.from(content)
  const [a, b] = [Math.floor(random() * (count - 1)), count - 1]
  out.copyWithin(a * ENTRY_BYTES, b * ENTRY_BYTES, (b + 1) * ENTRY_BYTES)
  out.set(content.subarray(a * ENTRY_BYTES, (a + 1) * ENTRY_BYTES), b * ENTRY_BYTES)
  return [{ key: row.key, value: sealed(row, out) }]
}

/** Renames an evidence in its record, with a right CRC-32: the change that the control expects to see. */
export const renameEvidence = (directory: string): Promise<void> =>
  withDatabase(directory, async (db) => {
    for (const row of await rowsOf(db)) {
      const content = Buffer.from(contentOf(row)).toString('latin1')
      if (!row.key.startsWith('ev/') || !content.includes('"Evidence acme-c"')) continue
      const renamed = Buffer.from(content.replaceAll('"Evidence acme-c"', '"Evidence acme-x"'), 'latin1')
      return db.put(bytesOf(row.key), sealed(row, renamed), BY_BYTES)
    }
    throw new Error('there is no evidence to rename')
  })

import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { discardStaged, nodeFiles, replaceDurably } from '../files/durable.ts'
import { ifExists } from '../files/errors.ts'
import { concatBytes } from '../kit/index.ts'
import { Cursor } from './encoding.ts'
import { encodeLog, FIRST, LAST, recordsOf, WHOLE } from './log-format.ts'

/** The values of each field of a manifest: numbers, and texts that begin with their length. */
const FIELDS: Readonly<Record<number, string>> = {
  1: 't',
  2: 'n',
  3: 'n',
  4: 'n',
  5: 'nt',
  6: 'nn',
  7: 'nnntt',
  9: 'n',
}
const [FIRST_LOG, COMPACTED_UP_TO, REMOVED_TABLE, ADDED_TABLE] = [2, 5, 6, 7]

interface LiveFiles {
  firstLog: number
  /** The size of each table by its number. */
  readonly tables: Map<number, number>
}

/** The name of the manifest that LevelDB reads; `undefined` if there is no database. */
export const manifestName = async (database: string): Promise<string | undefined> =>
  (await ifExists(readFile(join(database, 'CURRENT'), 'latin1')))?.trim()

/** Which files belong to the database: others may be what a crash has left unfinished. */
export function liveFiles(manifest: Uint8Array): LiveFiles {
  const live: LiveFiles = { firstLog: 0, tables: new Map() }
  for (const edit of editsIn(manifest))
    for (const { field, numbers } of fieldsOf(edit)) {
      const [first = 0, second = 0, third = 0] = numbers
      if (field === FIRST_LOG) live.firstLog = first
      if (field === REMOVED_TABLE) live.tables.delete(second)
      if (field === ADDED_TABLE) live.tables.set(second, third)
    }
  return live
}

/** The changes of the database that a manifest lists, up to the first damage: LevelDB does not open behind one. */
function* editsIn(manifest: Uint8Array): Generator<Uint8Array> {
  let parts: Uint8Array[] = []
  for (const { type, data } of recordsOf(manifest)) {
    if (data === undefined) return
    if (type === WHOLE || type === FIRST) parts = []
    parts.push(data)
    if (type === WHOLE || type === LAST) yield concatBytes(...parts)
  }
}

interface Field {
  readonly field: number
  /** Its values, of a text the length. */
  readonly numbers: readonly number[]
  readonly bytes: Uint8Array
}

function* fieldsOf(edit: Uint8Array): Generator<Field> {
  const cursor = new Cursor(edit)
  while (!cursor.isAtEnd()) {
    const start = cursor.at
    const field = cursor.varint()
    const numbers = (FIELDS[field] ?? '').split('').map((kind) => {
      const number = cursor.varint()
      if (kind === 't') cursor.take(number)
      return number
    })
    yield { field, numbers, bytes: edit.subarray(start, cursor.at) }
  }
}

/**
 * Removes from the files of a database that is closed what can hold keys that no table holds any more: the texts of its
 * merges in `LOG`, and in the manifest up to which key each level was merged last. LevelDB carries that over into the
 * manifest that it writes at the next open, and of the rest only the keys of present tables. It merges from the
 * beginning then. A manifest with damage stays as it is.
 */
export async function forgetKeys(database: string): Promise<void> {
  for (const name of ['LOG', 'LOG.old']) await rm(join(database, name), { force: true })
  await discardStaged(nodeFiles, database)
  const name = await manifestName(database)
  const manifest = name && (await ifExists(readFile(join(database, name))))
  if (!name || !manifest) return
  for (const { data } of recordsOf(manifest)) if (data === undefined) return
  const edits = Array.from(editsIn(manifest), (edit) =>
    concatBytes(
      ...Array.from(fieldsOf(edit)).flatMap(({ field, bytes }) => (field === COMPACTED_UP_TO ? [] : [bytes])),
    ),
  )
  await replaceDurably(join(database, name), encodeLog(edits))
}

import { join } from 'node:path'
import type { LevelDatabase } from '../../../adapters/level/layout.ts'
import { BY_BYTES } from '../../support/level-bytes.ts'
import { classicLevel } from '../../../adapters/level/database.ts'

/** A row of a stopped store, with its checksum. */
export interface Row {
  readonly key: string
  readonly value: Uint8Array
}

export async function withDatabase<T>(directory: string, use: (db: LevelDatabase) => Promise<T>): Promise<T> {
  const db = (await classicLevel())(join(directory, 'records', 'db'))
  await db.open()
  try {
    return await use(db)
  } finally {
    await db.close()
  }
}

export const bytesOf = (key: string): Uint8Array => Buffer.from(key, 'latin1')

export async function rowsOf(db: LevelDatabase): Promise<readonly Row[]> {
  const rows: Row[] = []
  for await (const [key, value] of db.iterator<Uint8Array, Uint8Array>(BY_BYTES))
    rows.push({ key: Buffer.from(key).toString('latin1'), value })
  return rows
}

/** The rows of a stopped store by key. */
export async function storedRows(directory: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const rows = await withDatabase(directory, rowsOf)
  return new Map(rows.map(({ key, value }) => [key, value]))
}

import type { Key } from '../kit/index.ts'
import { BY_TEXT, type LevelDatabase } from './layout.ts'

/** Sorts above all keys, so nothing is compacted: LevelDB only writes its memory to a table and removes old files. */
const NO_KEY = '\x7f'

/** Merging all files once takes less time than merging those of each of more keys, which are all over the database. */
const MAX_SINGLE_KEYS = 256

/** The part of classic-level that is not in abstract-level. */
interface Compactable {
  compactRange(start: string, end: string, options: { readonly keyEncoding: 'utf8' }): Promise<void>
}

const isCompactable = (db: LevelDatabase): db is LevelDatabase & Compactable =>
  'compactRange' in db && typeof db.compactRange === 'function'

/** How to remove old values from the files of a database. */
export interface HistoryEraser {
  /** Writes the memory of the database to a table, and removes the files that no reader uses. */
  flush(): Promise<void>
  /** Writes the present values of these keys again. Nothing else may write meanwhile. */
  rewrite(keys: readonly Key[]): Promise<void>
  /** Merges the files that hold these keys, which drops their old values. */
  compact(keys: readonly Key[]): Promise<void>
}

/**
 * Returns `undefined` for a database that keeps no old values, such as memory-level.
 *
 * LevelDB drops an old value only when it merges its file with one that holds a newer value of the same key. A value
 * that was overwritten before the memory was written to a table is in the same table as the newer one, and stays there.
 * So the memory is written first, then the keys are written again, and then their ranges are compacted.
 */
export function historyEraser(db: LevelDatabase): HistoryEraser | undefined {
  if (!isCompactable(db)) return undefined
  const compactRange = (start: string, end: string): Promise<void> =>
    db.compactRange(start, end, { keyEncoding: 'utf8' })
  return {
    flush: () => compactRange(NO_KEY, NO_KEY),
    rewrite: async (keys) => {
      const values = await db.getMany<string, Uint8Array>([...keys], BY_TEXT)
      const batch = db.batch()
      for (const [i, key] of keys.entries()) {
        const value = values[i]
        if (value === undefined) batch.del(key, BY_TEXT)
        else batch.put(key, value, BY_TEXT)
      }
      await batch.write({ sync: true })
    },
    compact: async (keys) => {
      const sorted = keys.toSorted()
      const [first, last] = [sorted[0], sorted.at(-1)]
      if (keys.length > MAX_SINGLE_KEYS && first !== undefined && last !== undefined) await compactRange(first, last)
      else for (const key of keys) await compactRange(key, key)
    },
  }
}

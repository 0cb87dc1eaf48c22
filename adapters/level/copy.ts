import { RegistryError } from '../kit/index.ts'
import { toRegistryError } from './errors.ts'
import { BY_BYTES, type LevelDatabase } from './layout.ts'

const PAGE_SIZE = 1000

/**
 * Copies one snapshot of an open database into an empty one, and syncs it. An error of the target is thrown unchanged.
 *
 * @throws RegistryError `CONFIG_ERROR` if the target is not empty, `UNAVAILABLE` or `CORRUPT` if the source cannot be
 *   read
 */
export async function copyDatabase(source: LevelDatabase, target: LevelDatabase): Promise<void> {
  const iterator = source.iterator<Uint8Array, Uint8Array>(BY_BYTES)
  try {
    await target.open()
    if ((await target.keys({ limit: 1 }).all()).length > 0)
      throw new RegistryError('CONFIG_ERROR', 'The record store can only be copied into an empty database')
    // The head sorts first and is written last, so that an interrupted copy is not mistaken for a complete one.
    const [head] = await iterator.nextv(1)
    for (;;) {
      const page = await iterator.nextv(PAGE_SIZE).catch((error: unknown) => {
        throw toRegistryError(error)
      })
      const rows = page.length > 0 ? page : head === undefined ? [] : [head]
      const batch = target.batch()
      for (const [key, value] of rows) batch.put(key, value, BY_BYTES)
      await batch.write({ sync: page.length === 0 })
      if (page.length === 0) return
    }
  } finally {
    await iterator.close()
  }
}

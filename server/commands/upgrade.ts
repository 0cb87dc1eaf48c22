import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { openFormat1Records, openLevelRecords } from '../../adapters/level/index.ts'
import { upgradedRecords } from '../../core/index.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { copyAndCheck } from './copy-and-check.ts'
import { assertHasRecords, exists } from '../startup/existing.ts'

/**
 * Converts the records of version 0.1.0 in a data directory to the present store format: copies them to
 * `records.upgrade`, checks the copy, and then puts it in place of `records`. The old records stay in
 * `records.format-1`. It can be run again after it was interrupted anywhere.
 *
 * @returns the number of differences; if there are any, `records` is unchanged
 * @throws RegistryError `CONFIG_ERROR` if there is nothing to upgrade
 */
export async function upgradeRecords(directory: string): Promise<number> {
  const old = join(directory, 'records')
  const upgraded = join(directory, 'records.upgrade')
  const kept = join(directory, 'records.format-1')
  const wasInterruptedAtTheEnd = (await exists(kept)) && (await exists(upgraded)) && !(await exists(old))
  if (!wasInterruptedAtTheEnd) {
    await assertHasRecords(directory)
    const differences = await copyUpgraded(directory, old, upgraded)
    if (differences > 0) return differences
    await rename(old, kept)
  }
  await rename(upgraded, old)
  process.stdout.write(`upgraded; the old records are in ${kept}: remove them when a server runs on the new ones\n`)
  return 0
}

async function copyUpgraded(directory: string, old: string, upgraded: string): Promise<number> {
  const parts = new OpenParts()
  try {
    const from = upgradedRecords(await parts.add(openFormat1Records(old)))
    const to = await parts.add(openLevelRecords(upgraded))
    return await copyAndCheck({ from, to }, [directory], { derivesIndexes: true })
  } finally {
    await parts.close()
  }
}

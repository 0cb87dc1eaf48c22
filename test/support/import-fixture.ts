import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { directoryWith, evidencesIn } from './configured-registry.ts'
import { runCli } from './server-process.ts'
import { temporaryFor } from './temporary.ts'

/** A data directory with the company `acme`, and a file of lines. */
export async function importFixture(t: TestContext, content: string, name = 'evidences.ndjson') {
  const directory = await directoryWith(t, [])
  const file = join(await temporaryFor(t), name)
  await writeFile(file, content)
  /** Runs the command with the data directory. */
  const run = (...args: readonly string[]) => runCli(['import', '--company', 'acme', '--data-dir', directory, ...args])
  return { directory, file, run }
}

export const lineOf = (number: number): string =>
  JSON.stringify({ externalId: `e-${number}`, name: 'Drill', categoryName: 'Tools', subcategoryName: 'Drills' })

export const linesOf = (count: number): string => Array.from({ length: count }, (_, i) => `${lineOf(i)}\n`).join('')

/** Asserts that the registry of a directory has so many evidences, each once. */
export async function assertHolds(directory: string, count: number): Promise<void> {
  const ids = await evidencesIn(directory)
  assert.deepEqual([ids.length, new Set(ids).size], [count, count])
}

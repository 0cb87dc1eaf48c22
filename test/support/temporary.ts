import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A new folder in the system's temporary one. */
export const makeTemporary = (): Promise<string> => mkdtemp(join(tmpdir(), 'evidence-files-'))

export const removeTemporary = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

/** A new folder that goes with the test. */
export async function temporaryFor(t: TestContext): Promise<string> {
  const path = await makeTemporary()
  t.after(() => removeTemporary(path))
  return path
}

/** Every file below a folder, by its path from there, sorted. */
export async function filesBelow(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .toSorted()
}

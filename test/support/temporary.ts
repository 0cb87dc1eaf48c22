import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** Creates a folder in the temporary folder of the system. */
export const makeTemporary = (): Promise<string> => mkdtemp(join(tmpdir(), 'evidence-files-'))

/** Removes a folder and its content. */
export const removeTemporary = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

/** Creates a folder that is removed after the test. */
export async function temporaryFor(t: TestContext): Promise<string> {
  const path = await makeTemporary()
  t.after(() => removeTemporary(path))
  return path
}

/** Returns the paths of all files below a folder, relative to it, sorted. */
export async function filesBelow(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .toSorted()
}

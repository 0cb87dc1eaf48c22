import { mkdtempSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { errnoOf } from '../../adapters/files/errors.ts'

/** Creates a folder in the temporary folder of the system. */
export const makeTemporary = (): Promise<string> => mkdtemp(join(tmpdir(), 'evidence-files-'))

/**
 * Removes a folder and its content. Tries again if the folder gets a new file meanwhile: a test's folders are removed
 * before the servers that were started later in the test are stopped.
 */
export const removeTemporary = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 })

/** Creates a folder, passes it to `use`, and removes it. */
export async function withTemporary<T>(use: (path: string) => Promise<T>): Promise<T> {
  const path = await makeTemporary()
  try {
    return await use(path)
  } finally {
    await removeTemporary(path)
  }
}

/** To be called in a `describe`: creates a folder that is removed after its tests. */
export function temporaryOfSuite(): string {
  const path = mkdtempSync(join(tmpdir(), 'evidence-files-'))
  after(() => removeTemporary(path))
  return path
}

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

/**
 * Returns whether a text is in any file below a folder. A database may remove a file while the search runs, and move
 * its content to a file that the search did not list: then the search starts again.
 */
export async function isOnDisk(path: string, text: string): Promise<boolean> {
  try {
    const files = await filesBelow(path)
    const contents = await Promise.all(files.map((file) => readFile(join(path, file))))
    return contents.some((bytes) => bytes.includes(text))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return isOnDisk(path, text)
    throw error
  }
}

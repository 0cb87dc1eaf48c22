import { promises } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { relative } from 'node:path'
import type { TestContext } from 'node:test'

/**
 * Records the calls of `node:fs/promises` that make something durable, give it a name or remove it, until the test
 * ends: `sync PATH`, `link NEW PATH`, `rename NEW PATH` and `rm PATH`, each when it has succeeded. Paths are relative
 * to `root`.
 */
export function recordCalls(t: TestContext, root: string): readonly string[] {
  const calls: string[] = []
  const note = (name: string, path: string): void => void calls.push(`${name} ${relative(root, path) || '.'}`)
  const { open, link, rename, rm } = promises
  t.mock.method(promises, 'open', async (...args: Parameters<typeof open>): Promise<FileHandle> => {
    const handle = await open(...args)
    const sync = handle.sync.bind(handle)
    return Object.assign(handle, {
      async sync() {
        await sync()
        note('sync', String(args[0]))
      },
    })
  })
  t.mock.method(promises, 'link', async (from: string, to: string) => {
    await link(from, to)
    note('link', to)
  })
  t.mock.method(promises, 'rename', async (from: string, to: string) => {
    await rename(from, to)
    note('rename', to)
  })
  t.mock.method(promises, 'rm', async (...args: Parameters<typeof rm>) => {
    await rm(...args)
    note('rm', String(args[0]))
  })
  // The modules under test import these functions by their names.
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  return calls
}

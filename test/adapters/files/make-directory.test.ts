import assert from 'node:assert/strict'
import { symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { makeDirectory, nodeFiles, type FileOperations } from '../../../adapters/files/durable.ts'
import { temporaryFor } from '../../support/temporary.ts'

describe('creating a folder', () => {
  it('creates the missing ones above it as private ones, and syncs the folder of each new name', async (t) => {
    const root = await temporaryFor(t)
    const path = join(root, 'a', 'b', 'c')
    const opened: string[] = []
    const open: FileOperations['open'] = (each, ...rest) => {
      opened.push(String(each))
      return nodeFiles.open(each, ...rest)
    }
    await makeDirectory({ ...nodeFiles, open }, path)
    const made = [path, dirname(path), join(root, 'a')]
    assert.deepEqual(opened, made.map(dirname))
    for (const each of made) assert.equal((await nodeFiles.stat(each)).mode & 0o777, 0o700)
    opened.length = 0
    await makeDirectory({ ...nodeFiles, open }, path)
    assert.deepEqual(opened, [])
  })

  it('succeeds in each of several calls that race', async (t) => {
    const path = join(await temporaryFor(t), 'a', 'b', 'c', 'd')
    await Promise.all(Array.from({ length: 20 }, () => makeDirectory(nodeFiles, path)))
    assert.ok((await nodeFiles.stat(path)).isDirectory())
  })

  it('names the system error of a file or a broken link in the way', async (t) => {
    const root = await temporaryFor(t)
    await writeFile(join(root, 'file'), '')
    await symlink(join(root, 'lost'), join(root, 'link'))
    const codeOf = (...path: readonly string[]) =>
      makeDirectory(nodeFiles, join(root, ...path)).catch((error: unknown) => (error as NodeJS.ErrnoException).code)
    assert.deepEqual(await Promise.all([codeOf('file'), codeOf('file', 'a'), codeOf('link'), codeOf('link', 'a')]), [
      'EEXIST',
      'ENOTDIR',
      'ENOENT',
      'ENOENT',
    ])
  })

  // There a recursive mkdir of Node does not end, so this file system rejects it.
  it('ends in a file system that reports a missing folder for each new one, such as /proc', async (t) => {
    const root = await temporaryFor(t)
    const mkdir = (async (path: string, options: { readonly recursive?: boolean }) => {
      assert.notEqual(options.recursive, true)
      const code = path === root ? 'EEXIST' : 'ENOENT'
      throw Object.assign(new Error(code), { code, syscall: 'mkdir', path })
    }) as FileOperations['mkdir']
    await assert.rejects(makeDirectory({ ...nodeFiles, mkdir }, join(root, 'a', 'b')), {
      code: 'ENOENT',
      path: join(root, 'a'),
    })
  })

  it('ends at the root of a file system that is not there, such as a drive of Windows', async () => {
    const tried: string[] = []
    const mkdir = (async (path: string) => {
      tried.push(path)
      assert.ok(tried.length <= 3, 'it goes up no further')
      throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
    }) as FileOperations['mkdir']
    await assert.rejects(makeDirectory({ ...nodeFiles, mkdir }, '/a/b'), { code: 'ENOENT' })
    assert.deepEqual(tried, ['/a/b', '/a', '/'])
  })
})

import assert from 'node:assert/strict'
import { cp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openDirectory } from '../../support/configured-registry.ts'
import { temporaryFor } from '../../support/temporary.ts'

const FOLDERS = ['records', 'blobs', 'tsa', 'ledger']
const MARKED = ['', 'blobs', 'tsa', 'ledger']

async function startAndStop(directory: string): Promise<void> {
  const { registry } = await openDirectory(directory)
  await registry.close()
}

const failsToStart = (directory: string, message: RegExp, what: string): Promise<void> =>
  assert.rejects(openDirectory(directory), { name: 'RegistryError', message }, what)

describe('the folders of a data directory', () => {
  it('must be there and belong to this registry, and nothing is made in the place of a lost one', async (t) => {
    const root = await temporaryFor(t)
    const [data, other, away] = [join(root, 'data'), join(root, 'other'), join(root, 'away')]
    await startAndStop(data)
    await startAndStop(other)
    for (const name of [...FOLDERS, 'secret']) {
      const path = join(data, name)
      await rename(path, away)
      const before = await readdir(data)
      await failsToStart(data, new RegExp(`${path} `), `without ${name}`)
      assert.deepEqual(await readdir(data), before, `${name} was made`)
      if (name !== 'secret') {
        await cp(join(other, name), path, { recursive: true })
        await failsToStart(data, new RegExp(`${path} belongs to the registry`), `foreign ${name}`)
        await rm(path, { recursive: true })
      }
      await rename(away, path)
    }
    await startAndStop(data)
  })

  it('must have their content, which is not made again', async (t) => {
    const root = await temporaryFor(t)
    const [data, away] = [join(root, 'data'), join(root, 'away')]
    await startAndStop(data)
    for (const [folder, names] of [
      ['blobs', ['content']],
      ['tsa', ['ca.key', 'ca.pem', 'tsa.pem']],
      ['ledger', ['ledger.key', 'ledger.pub', 'blocks.jsonl']],
    ] as const) {
      await cp(join(data, folder), away, { recursive: true })
      for (const name of names) await rm(join(data, folder, name), { recursive: true })
      const before = await readdir(join(data, folder))
      await failsToStart(data, new RegExp(`${folder} is missing or is not the folder of this registry`), folder)
      assert.deepEqual(await readdir(join(data, folder)), before)
      await rm(join(data, folder), { recursive: true })
      await rename(away, join(data, folder))
    }
    await startAndStop(data)
  })

  it('get markers if they are complete and from a version without markers, and only then', async (t) => {
    const data = await temporaryFor(t)
    await startAndStop(data)
    const removeMarkers = async (): Promise<void> => {
      for (const name of MARKED) await rm(join(data, name, 'registry.json'), { force: true })
    }
    await removeMarkers()
    await startAndStop(data)
    for (const name of MARKED) assert.ok((await readdir(join(data, name))).includes('registry.json'), name)
    await removeMarkers()
    await rm(join(data, 'blobs'), { recursive: true })
    await failsToStart(data, /blobs is missing/, 'without blobs')
  })
})

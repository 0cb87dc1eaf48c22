import assert from 'node:assert/strict'
import { cp, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { MemoryBlobs } from '../../../adapters/memory/index.ts'
import { Health } from '../../../server/http/health.ts'
import { openFileBlobs } from '../../../server/startup/blobs.ts'
import { FilesWatch } from '../../../server/startup/files-watch.ts'
import { inChunks, rejectsWith } from '../../contract/index.ts'
import { temporaryFor } from '../../support/temporary.ts'

describe('the directory of the files while the server runs', () => {
  const put = (key: string) => [key, inChunks(new Uint8Array(9), 9), { maxBytes: 9 }] as const

  async function openWith(t: TestContext, marker: string) {
    const directory = await temporaryFor(t)
    await (await openFileBlobs(directory)).close()
    const folder = join(directory, 'blobs')
    await writeFile(join(folder, 'registry.json'), marker)
    const blobs = await openFileBlobs(directory)
    t.after(() => blobs.close())
    return { blobs, folder, away: join(directory, 'away') }
  }

  it('is lost until it is back, which /readyz says and the log says once', async (t) => {
    const { blobs, folder, away } = await openWith(t, 'a')
    const lines: string[] = []
    const note = (_: object, message: string): void => void lines.push(message)
    const watch = new FilesWatch({ blobs, logger: { error: note, info: note } })
    const status = () => ({ writesRefused: null, currentFailures: [] })
    const health = new Health({ status }, { areFilesLost: () => watch.isLost })
    const reasons: (string | undefined)[] = []
    const look = async (): Promise<void> => {
      await watch.check()
      reasons.push(health.problem())
    }
    await look()
    await rename(folder, away)
    await look()
    await look()
    await rename(away, folder)
    await look()
    assert.deepEqual(reasons, [undefined, 'FILES_LOST', 'FILES_LOST', undefined])
    assert.deepEqual(lines.length, 2)
  })

  it('is not watched in another store', async () => {
    const watch = new FilesWatch({ blobs: new MemoryBlobs(), logger: { error: assert.fail, info: assert.fail } })
    await watch.check()
    assert.equal(watch.isLost, false)
  })

  it('may be replaced by one with its marker only', async (t) => {
    const { blobs, folder, away } = await openWith(t, 'a')
    await cp(folder, away, { recursive: true })
    await rename(folder, `${folder}-first`)
    await rename(away, folder)
    await writeFile(join(folder, 'registry.json'), 'b')
    await rejectsWith('UNAVAILABLE', blobs.put(...put('k')))
    await writeFile(join(folder, 'registry.json'), 'a')
    assert.equal((await blobs.put(...put('k'))).size, 9)
  })
})

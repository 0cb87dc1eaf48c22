import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { FolderSyncs } from '../../../adapters/files/durable.ts'
import { FaultyFiles } from '../../support/faulty-files.ts'
import { temporaryFor } from '../../support/temporary.ts'

const ONE_SYNC = 'open sync close'

describe('shared syncs of a folder', () => {
  /** Syncs a folder three times; the second and the third time while the first sync is in progress. */
  async function syncThreeTimes(t: TestContext, faulty: FaultyFiles) {
    const folder = await temporaryFor(t)
    const syncs = new FolderSyncs(faulty.files)
    const during: Promise<void>[] = []
    faulty.onCall = (name) => {
      if (name === 'sync' && during.length === 0) during.push(syncs.sync(folder), syncs.sync(folder))
    }
    const [first] = await Promise.allSettled([syncs.sync(folder)])
    const others = await Promise.allSettled(during)
    return { outcomes: [first, ...others].map(({ status }) => status), syncAgain: () => syncs.sync(folder) }
  }

  test('calls during a sync share the next one', async (t) => {
    const faulty = new FaultyFiles()
    const { outcomes, syncAgain } = await syncThreeTimes(t, faulty)
    assert.deepEqual(outcomes, ['fulfilled', 'fulfilled', 'fulfilled'])
    assert.equal(faulty.calls.join(' '), `${ONE_SYNC} ${ONE_SYNC}`)
    await syncAgain()
    assert.equal(faulty.calls.join(' '), `${ONE_SYNC} ${ONE_SYNC} ${ONE_SYNC}`)
  })

  test('a sync that fails fails the calls during it as well, and no later ones', async (t) => {
    for (const operation of ['open', 'sync', 'close'] as const) {
      const faulty = new FaultyFiles()
      faulty.arm({ operation, nth: 1, fault: 'not applied', code: 'EIO' })
      const { outcomes, syncAgain } = await syncThreeTimes(t, faulty)
      assert.deepEqual(outcomes, operation === 'open' ? ['rejected'] : ['rejected', 'rejected', 'rejected'])
      faulty.calls.length = 0
      await syncAgain()
      assert.equal(faulty.calls.join(' '), ONE_SYNC)
    }
  })

  test('a sync after another one fails only its own callers', async (t) => {
    const faulty = new FaultyFiles()
    faulty.arm({ operation: 'sync', nth: 2, fault: 'not applied', code: 'EIO' })
    // An unhandled error would fail this test.
    const { outcomes, syncAgain } = await syncThreeTimes(t, faulty)
    assert.deepEqual(outcomes, ['fulfilled', 'rejected', 'rejected'])
    await syncAgain()
  })

  test('folders do not wait for each other', async (t) => {
    const [a, b] = [await temporaryFor(t), await temporaryFor(t)]
    const faulty = new FaultyFiles()
    const syncs = new FolderSyncs(faulty.files)
    await Promise.all([syncs.sync(a), syncs.sync(b)])
    assert.deepEqual(faulty.calls.toSorted(), ['close', 'close', 'open', 'open', 'sync', 'sync'])
    assert.ok(faulty.calls.lastIndexOf('open') < faulty.calls.indexOf('sync'))
  })
})

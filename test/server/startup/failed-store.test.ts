import assert from 'node:assert/strict'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, it } from 'node:test'
import { hasRecovered } from '../../../server/startup/failed-store.ts'
import { temporaryFor } from '../../support/temporary.ts'

const logger = { info: () => undefined }

describe('a server whose record store accepts no more writes', () => {
  it('may start again once its disk can be written, and not before', async (t) => {
    // A folder that does not exist stands for a disk that cannot be written.
    const directory = join(await temporaryFor(t), 'records')
    let isPoisoned = false
    let isBack = false
    const { signal } = new AbortController()
    const recovered = hasRecovered({ records: { isPoisoned: () => isPoisoned }, directory, logger, signal, checkMs: 1 })
    void recovered.then(() => (isBack = true))
    await delay(50)
    isPoisoned = true
    await delay(50)
    assert.ok(!isBack)
    await mkdir(directory)
    assert.equal(await recovered, true)
    assert.deepEqual(await readdir(directory), [])
  })

  it('is not checked while it works, and not after the end', async (t) => {
    const directory = await temporaryFor(t)
    const ending = new AbortController()
    const options = { directory, logger, signal: ending.signal, checkMs: 1 }
    const recovered = hasRecovered({ ...options, records: { isPoisoned: () => false } })
    await delay(50)
    ending.abort()
    assert.equal(await recovered, false)
    assert.equal(await hasRecovered({ ...options, records: { isPoisoned: () => true } }), false)
  })
})

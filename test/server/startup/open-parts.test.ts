import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OpenParts } from '../../../server/startup/open-parts.ts'

describe('the parts that were opened', () => {
  it('are all closed, the last one first, even if some of them fail: the first error is thrown', async () => {
    const closed: string[] = []
    const part = (name: string, failure?: Error) => ({
      close: async () => {
        closed.push(name)
        if (failure !== undefined) throw failure
      },
    })
    const using = OpenParts.use(async (parts) => {
      parts.keep(part('records'))
      await parts.add(Promise.resolve(part('blobs', new Error('of the blobs'))))
      await parts.add(Promise.resolve('a file'), (name) => part(name, new Error(`of ${name}`)))
      parts.keep(part('sealer'))
    })
    await assert.rejects(using, { message: 'of a file' })
    assert.deepEqual(closed, ['sealer', 'a file', 'blobs', 'records'])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Context } from 'koa'
import { rawQuery } from '../../../server/http/query.ts'

const queryOf = (querystring: string) => rawQuery({ querystring } as Context)

describe('rawQuery', () => {
  it('returns every value of each name, decoded', () => {
    assert.deepEqual(
      [...queryOf('a=1&b=%C3%A9+x&a=&&c&a=2=3')],
      [
        ['a', ['1', '', '2=3']],
        ['b', ['é x']],
        ['c', ['']],
      ],
    )
  })

  it('does not copy the values of a name for each further one, so that anyone could block the server', (t) => {
    const set = t.mock.method(Map.prototype, 'set')
    const values = queryOf('a&'.repeat(8_000))
    const stored = set.mock.callCount()
    set.mock.restore()
    assert.equal(values.get('a')?.length, 8_000)
    assert.equal(stored, 1)
  })
})

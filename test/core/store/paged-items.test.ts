import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { itemsOf } from '../../../core/store/paged-items.ts'
import { arrayOf } from '../../support/array-of.ts'

const pages = fc.array(fc.array(fc.nat(), { maxLength: 4 }), { maxLength: 6 })

/** Yields the pages, throws the error if there is one, and notes when it is closed. */
async function* pagesOf(
  all: readonly (readonly number[])[],
  { error, close = () => undefined }: { error?: Error; close?: () => void } = {},
): AsyncGenerator<readonly number[], void, undefined> {
  try {
    for (const page of all) {
      await Promise.resolve()
      yield page
    }
    if (error !== undefined) throw error
  } finally {
    close()
  }
}

describe('the items of pages', () => {
  it('are those of all pages in order', async () => {
    await fc.assert(
      fc.asyncProperty(pages, async (all) => {
        assert.deepEqual(await arrayOf(itemsOf(pagesOf(all))), all.flat())
      }),
    )
  })

  it('are returned in order to calls that do not wait for each other', async () => {
    await fc.assert(
      fc.asyncProperty(pages, fc.nat({ max: 3 }), async (all, more) => {
        const items = itemsOf(pagesOf(all))
        const count = all.flat().length
        const results = await Promise.all(Array.from({ length: count + more }, () => items.next()))
        const values = results.map(({ value }) => value)
        assert.deepEqual(values, [...all.flat(), ...Array.from({ length: more }, () => undefined)])
        assert.deepEqual(
          results.map(({ done }) => done === true),
          results.map((_, i) => i >= count),
        )
      }),
    )
  })

  it('come before an error of the pages, after which there are none', async () => {
    await fc.assert(
      fc.asyncProperty(pages, async (all) => {
        const error = new Error('of the pages')
        const items = itemsOf(pagesOf(all, { error }))
        const read: number[] = []
        await assert.rejects(async () => {
          for await (const item of items) read.push(item)
        }, error)
        assert.deepEqual(read, all.flat())
        assert.deepEqual(await items.next(), { done: true, value: undefined })
      }),
    )
  })

  it('close the pages if they are left early', async () => {
    let closed = 0
    const items = itemsOf(pagesOf([[1, 2], [3]], { close: () => void closed++ }))
    for await (const item of items) if (item === 1) break
    assert.equal(closed, 1)
    assert.deepEqual(await items.next(), { done: true, value: undefined })
  })

  it('are none after a return during a call that reads a page', async () => {
    const items = itemsOf(pagesOf([[1, 2], [3]]))
    const [first] = await Promise.all([items.next(), items.return?.()])
    assert.deepEqual(first, { done: false, value: 1 })
    assert.deepEqual(await items.next(), { done: true, value: undefined })
  })
})

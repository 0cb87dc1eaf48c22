import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { evidenceList, evidenceListParts, type ListedPage } from '../../../server/contract/evidence-responses.ts'

const page: fc.Arbitrary<ListedPage> = fc
  .record(
    {
      objects: fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), { maxLength: 4 }),
      count: fc.nat(),
      countIsMore: fc.boolean(),
      hasMore: fc.boolean(),
      next: fc.string({ unit: 'binary' }),
    },
    { requiredKeys: ['objects', 'count', 'countIsMore', 'hasMore'] },
  )
  .map(({ objects, ...rest }) => ({
    ...rest,
    items: objects.map((object, i) => ({
      id: `${i}` as ListedPage['items'][number]['id'],
      text: JSON.stringify(object),
    })),
  }))

const objectsOf = ({ items }: ListedPage): unknown[] => items.map(({ text }) => JSON.parse(text) as unknown)

async function* streamOf<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items
}

describe('the JSON of a list of evidences', () => {
  it('is what JSON.stringify makes of the page', () => {
    fc.assert(
      fc.property(page, (listed) => {
        const { count, countIsMore, hasMore, next } = listed
        const expected = {
          dts: objectsOf(listed),
          count,
          ...(countIsMore && { countIsMore }),
          isMore: hasMore,
          ...(next !== undefined && { next }),
        }
        assert.equal(evidenceList(listed), JSON.stringify(expected))
      }),
    )
  })

  it('is valid JSON with the items of all pages if it is sent in parts', async () => {
    await fc.assert(
      fc.asyncProperty(page, fc.array(page, { maxLength: 3 }), async (first, others) => {
        let text = ''
        for await (const part of evidenceListParts(first, streamOf(others))) text += part
        const { dts, ...total } = JSON.parse(text) as { readonly dts: unknown }
        assert.deepEqual(dts, [first, ...others].flatMap(objectsOf))
        const { count, countIsMore } = first
        assert.deepEqual(total, countIsMore ? { count, countIsMore } : { count })
      }),
    )
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findSubcategory } from '../../../server/import/subcategories.ts'

const stored = (id: string, name: string, status: 'active' | 'inactive' = 'active') =>
  ({ id, name, status, path: '/', fileIds: [], digitalTwinsCount: 0 }) as const

it('a row selects one active subcategory, by names as the registry compares them', () => {
  const subcategories = [stored('safes', 'Gerät'), stored('old', 'Old', 'inactive')]
  const categories = [
    { ...stored('first', 'Büro'), subcategories },
    { ...stored('second', 'Lager'), subcategories },
    { ...stored('third', 'Archiv', 'inactive'), subcategories },
  ]
  const find = (category: string, name: string) =>
    findSubcategory({ count: 3, categories }, { name: category }, { name })?.subcategoryId
  assert.equal(find('Bu\u0308ro', ' Gera\u0308t '), 'safes')
  assert.deepEqual(
    [find('Büro', 'Old'), find('Archiv', 'Gerät'), find('büro', 'Gerät')],
    [undefined, undefined, undefined],
  )
  const findById = (id: string, some = categories.slice(1)) =>
    findSubcategory({ count: some.length, categories: some }, {}, { id })?.subcategoryId
  assert.deepEqual([findById('SAFES'), findById('none')], ['safes', undefined])
  assert.equal(findById('safes', categories), undefined, 'two categories have it')
})

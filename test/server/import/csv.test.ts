import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { targetsOf, valuesOf } from '../../../server/import/columns.ts'
import { csvText, readCsv } from '../../../server/import/csv.ts'

describe('a CSV file', () => {
  it('is read with each delimiter and each line end', () => {
    for (const delimiter of [',', ';', '\t', '|'])
      for (const end of ['\n', '\r\n']) {
        const text = ['id', 'name'].join(delimiter) + end + ['1', `"a${delimiter}""b""\nc"`].join(delimiter) + end
        assert.deepEqual(readCsv(text), {
          rows: [
            { number: 1, cells: ['id', 'name'] },
            { number: 2, cells: ['1', `a${delimiter}"b"\nc`] },
          ],
          openQuote: undefined,
        })
      }
  })

  it('counts empty rows and leaves them out', () => {
    const { rows } = readCsv('id,name\n\n,\n1,a\n\n')
    assert.deepEqual(
      rows.map(({ number }) => number),
      [1, 4],
    )
  })

  it('says in which row the quotation marks do not match', () => {
    assert.equal(readCsv('id,name\n1,a\n2,"b\n3,c\n').openQuote, 3)
    assert.equal(readCsv('id,name\n1,"a"b\n2,c\n').openQuote, 2)
    assert.equal(readCsv('id,name\n1,5" disk\n').openQuote, undefined)
  })

  it('has the cells that were written, and no formulas', () => {
    const cell = fc.string({ unit: 'grapheme' }).filter((text) => !/^['=+\-@\t\r]/.test(text))
    fc.assert(
      fc.property(fc.array(cell, { minLength: 2, maxLength: 5 }), (cells) => {
        const [row] = readCsv(csvText([['x', ...cells]])).rows
        assert.deepEqual(row?.cells, ['x', ...cells])
      }),
    )
    assert.equal(csvText([['=1+1']]), `"'=1+1"`)
  })
})

describe('columns', () => {
  it('become the fields whose names they have', () => {
    const columns = [
      'External ID',
      'NAME',
      'Category',
      'sub_category',
      'meta.Serial no',
      'Remarks',
      '',
      'name',
      'meta.',
    ]
    const targets = targetsOf(columns)
    const [id, name, category, subcategory, fact, ...others] = targets
    assert.deepEqual(
      [id, name, category, subcategory, fact],
      ['externalId', 'name', 'categoryName', 'subcategoryName', 'meta.Serial no'],
    )
    // A field has one column.
    assert.deepEqual(others.slice(0, 3), [undefined, undefined, undefined])
  })

  it('give each row its values, without empty cells', () => {
    const targets = ['externalId', 'meta.a', undefined, 'owner', 'meta.b', 'meta.__proto__']
    const values = valuesOf(['1', 'x', 'left out', ' ', '', 'y'], targets)
    assert.equal(JSON.stringify(values), '{"externalId":"1","meta":{"a":"x","__proto__":"y"}}')
    assert.deepEqual(valuesOf(['1'], targets), { externalId: '1' })
  })

  it('make a row with more cells one that is refused', () => {
    assert.deepEqual(valuesOf(['1', 'a', ''], ['externalId', 'name']), { externalId: '1', name: 'a' })
    assert.deepEqual(valuesOf(['1', 'a', 'b'], ['externalId', 'name']), { externalId: '1', name: 'a', 'column 3': 'b' })
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bundleFileName } from '../../server/bundle-file-name.ts'
import { codePoint } from '../support/code-point.ts'

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._~-]*\.evidence\.json$/

test('the file of a bundle is named after its id, readably', () => {
  for (const id of ['car-1', 'golf.jpg', 'a_b', '17']) assert.equal(bundleFileName(id), `${id}.evidence.json`)
  assert.match(bundleFileName('v1/App 2.tgz'), /^v1_App_2_tgz~[0-9a-f]{16}\.evidence\.json$/)
})

test('the file of a bundle has a name of its own, which every file system takes', () => {
  const ids = [
    'v1/a',
    'v1_a',
    'v1\\a',
    'V1_A',
    'v1_a ',
    'con',
    'CON',
    'com1',
    'com1.x',
    'nul.',
    '.',
    '..',
    '-x',
    '.x',
    '~',
    'ü',
    'u\u0308',
  ]
  ids.push('\u{1f600}'.repeat(128), '\u{1f600}'.repeat(127), 'x'.repeat(128), 'X'.repeat(128), 'Conin$', 'v1_a~2')
  const names = ids.map(bundleFileName)
  assert.equal(new Set(names.map((name) => name.toLowerCase())).size, ids.length)
  for (const name of names) {
    assert.match(name, NAME)
    assert.ok(name.length <= 255)
    assert.doesNotMatch(name, /^(?:con|prn|aux|nul|com\d|lpt\d)\./i)
  }
})

test('no two ids have the same file, whatever they are', () => {
  const id = fc.oneof(fc.string({ unit: codePoint, maxLength: 128 }), fc.stringMatching(/^[aA_/~.0-]{1,6}$/))
  fc.assert(
    fc.property(id, id, (a, b) => {
      assert.equal(bundleFileName(a).toLowerCase() === bundleFileName(b).toLowerCase(), a === b)
    }),
  )
})

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { uiModule } from '../../support/ui-module.ts'

const ORIGIN = 'evidence-registry/583022a92689985f5082a1abacd1dcaf'

describe('the fingerprint of a log', () => {
  let ui: { fingerprintOf(origin: string): { id: string; words: readonly string[]; picture: string } }
  before(async () => {
    ui = await uiModule('components/fingerprint.tsx')
  })

  // What is printed on paper must be recognized for ever.
  it('is always the same', () => {
    const { id, words } = ui.fingerprintOf(ORIGIN)
    assert.deepEqual([id, words.join(' ')], ['583022a92689985f5082a1abacd1dcaf', 'flag library prevent escape office cook dragon feature'])
  })

  it('shows each bit in the picture, and each of the first 88 in the words', () => {
    const name = ORIGIN.slice(0, -32)
    const zero = ui.fingerprintOf(`${name}${'0'.repeat(32)}`)
    assert.deepEqual([zero.words, zero.picture], [Array(8).fill('abandon'), ''])
    const shown = Array.from({ length: 32 }, (_, digit) =>
      Array.from({ length: 15 }, (_, value) => {
        const { words, picture } = ui.fingerprintOf(
          `${name}${'0'.repeat(digit)}${(value + 1).toString(16)}`.padEnd(name.length + 32, '0'),
        )
        assert.equal(words.join() === zero.words.join(), digit >= 22)
        return picture
      }),
    ).flat()
    assert.equal(new Set(shown).size, 32 * 15)
  })
})

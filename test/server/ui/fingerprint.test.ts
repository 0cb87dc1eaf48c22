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
    assert.deepEqual(
      [id, words.join(' ')],
      ['583022a92689985f5082a1abacd1dcaf', 'flag library prevent escape office cook dragon feature'],
    )
  })

  it('shows each bit in the picture, and each of the first 88 in the words', () => {
    const zeros = '0'.repeat(32)
    const zero = ui.fingerprintOf(`log/${zeros}`)
    assert.deepEqual([zero.words, zero.picture], [Array(8).fill('abandon'), ''])
    const pictures = new Set<string>()
    for (let at = 0; at < 32; at++)
      for (const digit of '123456789abcdef') {
        const { words, picture } = ui.fingerprintOf(`log/${zeros.slice(0, at)}${digit}${zeros.slice(at + 1)}`)
        assert.equal(words.join() === zero.words.join(), at >= 22)
        pictures.add(picture)
      }
    assert.equal(pictures.size, 32 * 15)
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { TreeAccumulator } from '../../../../core/log/tree/accumulator.ts'
import { leafHash } from '../../../../core/log/tree/hash.ts'
import { referenceRoot } from './reference.ts'

it('TreeAccumulator has the root of RFC 9162 at every size', () => {
  const tree = new TreeAccumulator()
  const entries: Uint8Array[] = []
  assert.deepEqual(tree.root(), referenceRoot([]))
  for (let i = 0; i < 130; i++) {
    const entry = new Uint8Array(32).fill(i)
    entries.push(entry)
    tree.add(leafHash(entry))
    assert.equal(tree.size, i + 1)
    assert.deepEqual(tree.root(), referenceRoot(entries), `size ${i + 1}`)
  }
})

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fromHex, toHex } from '../../core/bytes.ts'
import { isRegistryError } from '../../core/errors.ts'
import { openNote } from '../../core/log/note.ts'
import { leafHash } from '../../core/log/tree/hash.ts'
import { rootFromInclusionProof, verifyConsistency, verifyInclusion } from '../../core/log/tree/proof.ts'
import { present } from '../support/present.ts'
import { kinds, textOf, vectorFolder } from './make.ts'

/** The members of all kinds of vectors. */
interface Vector extends Readonly<Record<'entry' | 'root' | 'fromRoot' | 'toRoot' | 'note' | 'verifierKey', string>> {
  readonly leafIndex: number
  readonly treeSize: number
  readonly fromSize: number
  readonly toSize: number
  readonly proof: readonly string[]
  readonly expected: { readonly valid: boolean }
}

const bytes = (hex: string): Uint8Array => present(fromHex(hex))

/** Returns whether what `verify` checks holds. Any other error than that it does not fails the test. */
function holds(verify: () => void): boolean {
  try {
    verify()
    return true
  } catch (error) {
    if (isRegistryError(error, 'VERIFICATION_FAILED')) return false
    throw error
  }
}

/** What our verifiers say of a vector, in the shape of `expected`. Events and bundles have a test of their own. */
const verdicts: Readonly<Record<string, (vector: Vector) => object>> = {
  inclusion({ entry, leafIndex, treeSize, proof, root }) {
    const claim = { leafHash: leafHash(bytes(entry)), leafIndex, treeSize, proof: proof.map(bytes) }
    const computed = rootFromInclusionProof(claim)
    const valid = holds(() => verifyInclusion({ ...claim, root: bytes(root) }))
    return { valid, computedRoot: computed ? toHex(computed) : null }
  },
  consistency({ fromSize, fromRoot, toSize, toRoot, proof }) {
    const trees = { fromSize, fromRoot: bytes(fromRoot), toSize, toRoot: bytes(toRoot) }
    return { valid: holds(() => verifyConsistency({ ...trees, proof: proof.map(bytes) })) }
  },
  note({ note, verifierKey }) {
    const valid = holds(() => openNote(note, verifierKey))
    return valid ? { valid, text: openNote(note, verifierKey) } : { valid }
  },
}

describe('the test vectors', () => {
  for (const [kind, make] of Object.entries(kinds))
    it(`of ${kind} are those that test/vectors/make.ts makes`, () => {
      const files = readdirSync(join(vectorFolder, kind))
      const made = Object.entries(make())
      assert.deepEqual(files.sort(), made.map(([name]) => `${name}.json`).sort())
      for (const [name, vector] of made)
        assert.equal(readFileSync(join(vectorFolder, kind, `${name}.json`), 'utf8'), textOf(vector), name)
    })

  for (const [kind, verdict] of Object.entries(verdicts))
    it(`of ${kind} are valid or not, as they say`, () => {
      const counts = { valid: 0, broken: 0 }
      for (const file of readdirSync(join(vectorFolder, kind))) {
        const vector = JSON.parse(readFileSync(join(vectorFolder, kind, file), 'utf8')) as Vector
        assert.deepEqual(verdict(vector), vector.expected, file)
        counts[vector.expected.valid ? 'valid' : 'broken']++
      }
      assert.ok(counts.valid > 0 && counts.broken > 0)
    })
})

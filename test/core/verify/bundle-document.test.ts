import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { Bundle } from '../../../core/schemas/bundle.ts'
import { MAX_BUNDLE_LENGTH, verifyBundle, type VerificationRule } from '../../../core/verify/index.ts'
import { ruleOf } from './forger.ts'

/**
 * Each bundle breaks one rule of the form. A program that wrote it again does so, and that contradicts nothing. What a
 * program leaves as it is refutes it if it is wrong: hashes, proofs and positions. The specification has the bundle.
 */
const page = readFileSync('core/SPECIFICATION.md', 'utf8')
const example = JSON.parse(/```json\n([^]*?)```/.exec(page)?.[1] ?? '') as Bundle

/** Any JSON, so that the tests can break it. */
type Loose = Record<string, unknown> & { readonly [name: string]: never }
const first = (items: unknown): Loose => (items as readonly Loose[])[0] as Loose

function unreadable(change: (bundle: Loose) => void, rule: VerificationRule, state = 'unreadable'): void {
  const copy = structuredClone(example) as unknown as Loose
  change(copy)
  const result = verifyBundle(JSON.stringify(copy))
  assert.deepEqual([result.state, ruleOf(result).at(-1)], [state, rule])
}

const refuted = (change: (bundle: Loose) => void): void => unreadable(change, 'value.malformed', 'refuted')

const set =
  (path: readonly string[], value: unknown) =>
  (bundle: Loose): void => {
    let parent: Record<string, unknown> = bundle
    for (const name of path.slice(0, -1)) parent = (name === '0' ? first(parent) : parent[name]) as Loose
    parent[path.at(-1) ?? ''] = value
  }
const many = (count: number, value: unknown): readonly unknown[] => Array.from({ length: count }, () => value)

describe('the form of a bundle', () => {
  it('is right in the example', () => {
    assert.equal(verifyBundle(JSON.stringify(example)).state, 'consistent')
  })

  it('has no unknown member', () => {
    const paths: readonly (readonly string[])[] = [
      ['subject'],
      ['events', '0'],
      ['events', '0', 'inclusion', '0'],
      ['keys', '0'],
      ['checkpoints', '0'],
    ]
    for (const path of paths) unreadable(set([...path, 'more'], 1), 'form.members')
    unreadable(set(['events', '0', 'fields', 'owner', 'more'], 1), 'form.members')
    unreadable(set(['validationData'], [{ type: 'crl', data: 'AAAA', more: 1 }]), 'form.members')
    unreadable(set(['renewals'], [{ opening: '', position: 1, inclusion: [], more: 1 }]), 'form.members')
    const anchor = { type: '', network: '', chainId: 1, txHash: '', blockNumber: 1, blockHash: '', proof: '' }
    unreadable(set(['checkpoints', '0', 'anchors'], [{ ...anchor, more: 1 }]), 'form.members')
    for (const name of Object.keys(anchor))
      unreadable(set(['checkpoints', '0', 'anchors'], [{ ...anchor, [name]: null }]), 'form.value')
  })

  it('is that of version 1', () => {
    unreadable(set(['format'], 'other'), 'document.format')
    unreadable(set(['version'], '1'), 'document.format')
    for (const [name, value] of [
      ['version', 2],
      ['erased', []],
    ] as const) {
      unreadable(set([name], value), 'document.newer')
      unreadable(set(['claimedPolicy', name], value), 'document.newer')
    }
    for (const name of ['extensions', 'claimedPolicy'])
      for (const value of [null, []]) unreadable(set([name], value), 'form.value')
    unreadable(set(['renewals'], null), 'form.value')
    unreadable(set(['checkpoints', '0', 'consistency'], null), 'form.value')
    unreadable(set(['claimedPolicy', 'chains'], [{}]), 'form.value')
    unreadable(set(['claimedPolicy', 'chains'], [{ _id: 1 }]), 'form.members')
    unreadable(set(['subject', 'type'], 'other'), 'form.value')
    unreadable(set(['subject', 'type'], 'file'), 'form.value')
    unreadable(set(['subject', 'fileId'], 'x'), 'form.members')
    const { txId } = example.subject
    unreadable(set(['subject'], { type: 'file', txId, fileId: 'x', more: 1 }), 'form.members')
    const text = JSON.stringify(example)
    for (const part of ['', '[', text.slice(0, text.length / 2), text.slice(0, -1), `${text}\n${text}`])
      assert.deepEqual(
        [verifyBundle(part).state, ...ruleOf(verifyBundle(part))],
        ['unreadable', 'document', 'form.json'],
      )
    refuted(set(['subject', 'txId'], 'x'))
  })

  it('has lists of limited length', () => {
    for (const name of ['events', 'keys']) unreadable(set([name], []), 'form.length')
    unreadable(set(['events'], many(10_001, {})), 'form.length')
    unreadable(set(['keys'], many(1_025, {})), 'form.length')
    unreadable(set(['keys'], many(1_024, {})), 'form.value')
    unreadable(set(['checkpoints'], many(20_001, {})), 'form.length')
    unreadable(set(['validationData'], many(20_001, {})), 'form.length')
    unreadable(set(['renewals'], many(160_001, 1)), 'form.length')
    unreadable(set(['checkpoints', '0', 'tokens'], many(9, '')), 'form.length')
    unreadable(set(['checkpoints', '0', 'anchors'], many(5, {})), 'form.length')
    unreadable(set(['checkpoints', '0', 'cosignatures'], many(33, '')), 'form.length')
    unreadable(set(['events', '0', 'inclusion'], many(4, {})), 'form.length')
    unreadable(set(['events', '0', 'inclusion', '0', 'path'], many(65, '')), 'form.length')
    unreadable(set(['keys', '0', 'opening'], '00'.repeat(16_385)), 'form.length')
    const long = { ...example.claimedPolicy, extensions: { long: 'x'.repeat(1_048_576) } }
    unreadable(set(['claimedPolicy'], long), 'form.length')
    assert.deepEqual(ruleOf(verifyBundle(' '.repeat(MAX_BUNDLE_LENGTH + 1))), ['document', 'form.length'])
  })

  it('proves each entry once under a checkpoint, at one position', () => {
    const { inclusion } = example.events[0] ?? {}
    unreadable(set(['events', '0', 'inclusion'], [...(inclusion ?? []), ...(inclusion ?? [])]), 'document.entry')
    unreadable(set(['events', '0', 'inclusion'], []), 'document.entry')
    unreadable(set(['events', '0', 'position'], undefined), 'document.entry')
    refuted(set(['events', '0', 'position'], -1))
    unreadable(set(['keys', '0', 'position'], undefined), 'form.value')
  })

  it('has texts in hex, base64 and lines', () => {
    unreadable(set(['events', '0', 'opening'], 'AB'), 'form.value')
    unreadable(set(['events', '0', 'opening'], null), 'form.value')
    for (const hex of ['xy', 'abc']) refuted(set(['events', '0', 'opening'], hex))
    refuted(set(['events', '0', 'inclusion', '0', 'path'], ['ab']))
    unreadable(set(['checkpoints', '0', 'tokens'], ['*']), 'form.value')
    unreadable(set(['validationData'], [{ type: 'other', data: '' }]), 'form.value')
    unreadable(set(['validationData'], [{ type: 'crl', data: '*' }]), 'form.value')
    for (const line of ['x', '— a b\n— c d']) refuted(set(['checkpoints', '0', 'cosignatures'], [line]))
  })
})

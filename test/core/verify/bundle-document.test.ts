import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { Bundle } from '../../../core/schemas/bundle.ts'
import { MAX_BUNDLE_LENGTH, verifyBundle } from '../../../core/verify/index.ts'

/** Each bundle breaks one rule of the form, and must be refuted because of it. The format page has the bundle. */
const page = readFileSync('core/registry/proof/README.md', 'utf8')
const example = JSON.parse(/```json\n([^]*?)```/.exec(page)?.[1] ?? '') as Bundle

/** Any JSON, so that the tests can break it. */
type Loose = Record<string, unknown> & { readonly [name: string]: never }
const first = (items: unknown): Loose => (items as readonly Loose[])[0] as Loose

function refuted(change: (bundle: Loose) => void, why: RegExp): void {
  const copy = structuredClone(example) as unknown as Loose
  change(copy)
  const result = verifyBundle(JSON.stringify(copy))
  assert.match(result.state === 'refuted' ? result.reason : result.state, why)
}

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
      [],
      ['subject'],
      ['events', '0'],
      ['events', '0', 'inclusion', '0'],
      ['keys', '0'],
      ['checkpoints', '0'],
      ['claimedPolicy'],
    ]
    for (const path of paths) refuted(set([...path, 'more'], 1), /unknown member more/)
    refuted(set(['events', '0', 'fields', 'owner', 'more'], 1), /exactly the members text, salt/)
    refuted(set(['validationData'], [{ type: 'crl', data: 'AAAA', more: 1 }]), /unknown member more/)
    refuted(set(['renewals'], [{ opening: '', position: 1, inclusion: [], more: 1 }]), /unknown member more/)
    const anchor = { type: '', network: '', chainId: 1, txHash: '', blockNumber: 1, blockHash: '', proof: '' }
    refuted(set(['checkpoints', '0', 'anchors'], [{ ...anchor, more: 1 }]), /unknown member more/)
    for (const name of Object.keys(anchor))
      refuted(set(['checkpoints', '0', 'anchors'], [{ ...anchor, [name]: null }]), /must be/)
  })

  it('is that of version 1', () => {
    refuted(set(['format'], 'other'), /must have the format/)
    refuted(set(['version'], 2), /version 1/)
    refuted(set(['extensions'], []), /extensions must be an object/)
    refuted(set(['claimedPolicy'], []), /claimedPolicy must be an object/)
    refuted(set(['subject', 'type'], 'other'), /must be evidence or file/)
    refuted(set(['subject', 'type'], 'file'), /fileId of the subject/)
    refuted(set(['subject', 'fileId'], 'x'), /unknown member fileId/)
    const { txId } = example.subject
    refuted(set(['subject'], { type: 'file', txId, fileId: 'x', more: 1 }), /unknown member more/)
    const text = verifyBundle('[')
    assert.match(text.state === 'refuted' ? text.reason : '', /not strict JSON/)
    refuted(set(['subject', 'txId'], 'x'), /txId of the subject must be lowercase hex/)
  })

  it('has lists of limited length', () => {
    refuted(set(['events'], many(10_001, {})), /events has more than 10000 items/)
    refuted(set(['keys'], many(1_025, {})), /keys has more than 1024 items/)
    refuted(set(['keys'], many(1_024, {})), /inclusion must be an array/)
    refuted(set(['checkpoints'], many(20_001, {})), /checkpoints has more than 20000 items/)
    refuted(set(['validationData'], many(20_001, {})), /validationData has more than 20000 items/)
    refuted(set(['renewals'], many(160_001, 1)), /renewals has more than 160000 items/)
    refuted(set(['checkpoints', '0', 'tokens'], many(9, '')), /tokens has more than 8 items/)
    refuted(set(['checkpoints', '0', 'anchors'], many(5, {})), /anchors has more than 4 items/)
    refuted(set(['checkpoints', '0', 'cosignatures'], many(33, '')), /cosignatures has more than 32 items/)
    refuted(set(['events', '0', 'inclusion'], many(3, {})), /inclusion has more than 2 items/)
    refuted(set(['events', '0', 'inclusion', '0', 'path'], many(65, '')), /path has more than 64 items/)
    refuted(set(['keys', '0', 'opening'], '00'.repeat(16_385)), /at most 16384 bytes/)
    const result = verifyBundle(' '.repeat(MAX_BUNDLE_LENGTH + 1))
    assert.match(result.state === 'refuted' ? result.reason : '', /at most 268435456 characters/)
  })

  it('proves each entry once under a checkpoint, at one position', () => {
    const { inclusion } = example.events[0] ?? {}
    refuted(set(['events', '0', 'inclusion'], [...(inclusion ?? []), ...(inclusion ?? [])]), /same checkpoint twice/)
    refuted(set(['events', '0', 'inclusion'], []), /both a position and an inclusion proof/)
    refuted(set(['events', '0', 'position'], undefined), /both a position and an inclusion proof/)
    refuted(set(['events', '0', 'position'], -1), /position must be an integer/)
    refuted(set(['keys', '0', 'position'], undefined), /A key must have a position/)
  })

  it('has texts in hex, base64 and lines', () => {
    refuted(set(['events', '0', 'opening'], 'AB'), /opening must be lowercase hex/)
    refuted(set(['checkpoints', '0', 'tokens'], ['*']), /A token must be base64/)
    refuted(set(['validationData'], [{ type: 'other', data: '' }]), /must be a certificate, crl or ocsp/)
    refuted(set(['validationData'], [{ type: 'crl', data: '*' }]), /data of validationData must be base64/)
    for (const line of ['x', '— a b\n— c d'])
      refuted(set(['checkpoints', '0', 'cosignatures'], [line]), /must be a signature line/)
  })
})

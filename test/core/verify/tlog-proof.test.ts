import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toHex } from '../../../core/bytes.ts'
import { formatTlogProof, type TlogProof } from '../../../core/log/tlog-proof.ts'
import { parsePolicy, verifyTlogProof, type BundleResult, type Policy } from '../../../core/verify/index.ts'
import { present } from '../../support/present.ts'
import { TLOG_PROOF_POLICY, TLOG_PROOF } from '../../support/tlog-proof-example.ts'
import { ForgedLog, forgeEvent, ruleOf } from './forger.ts'
import { ForgedWitness } from './forged-witness.ts'

const log = new ForgedLog()
const event = forgeEvent({ origin: log.origin, slotKey: new Uint8Array(32), version: 1, time: 1_000, fields: {} })
const index = log.add(event.opening)
const UNTIL = log.tree.size
log.addKey()
const witness = new ForgedWitness('witness', 5)

const proofOf = (parts: Partial<TlogProof> = {}, size = log.tree.size, key = 1): string =>
  formatTlogProof({
    extra: event.opening,
    index,
    path: log.tree.inclusionProof(index, size),
    checkpoint: log.checkpoint(size, { key }),
    ...parts,
  })
const verify = (text: string, policy: Partial<Policy> = {}): BundleResult =>
  verifyTlogProof(text, { policy: { keys: log.pinned, ...policy } })
const assertRule = (result: BundleResult, ...expected: readonly string[]): void =>
  assert.deepEqual('rule' in result ? [result.state, result.rule] : [result.state], expected)

describe('a tlog-proof of an event', () => {
  it('that other code made is proven under a C2SP policy, and without its witness it is not', () => {
    const policy = parsePolicy(TLOG_PROOF_POLICY)
    const txId = '6a653e5d52d77e4184d133f7b310f8f36bb173bb8945fb3fb0de06b4e990f7cb'
    const result = verifyTlogProof(TLOG_PROOF, { policy, expect: { txId } })
    assert.ok('claims' in result && result.state === 'proven', JSON.stringify(result))
    const [claims] = result.claims.events
    assert.deepEqual([claims?.txId, claims?.log], [txId, { position: 1, treeSize: 2 }])
    assert.equal(claims?.assurance, 'witnessed by 1 of 1')
    assert.deepEqual(claims.witnesses, [{ name: 'ours', time: 1_700_000_000_000 }])
    assert.equal(verifyTlogProof(TLOG_PROOF.replace(/— wit.*\n/, ''), { policy }).state, 'requirement')
    const other = verifyTlogProof(TLOG_PROOF, { policy, expect: { txId: '0'.repeat(64) } })
    assertRule(other, 'refuted', 'expected.subject')
  })

  it('proves what its path, its signature and its cosignatures show', () => {
    const result = verify(proofOf())
    assert.ok('claims' in result && result.state === 'proven')
    assert.deepEqual([result.claims.isHistory, result.claims.events[0]?.committedTime], [false, 1_000])
    const otherEvent = forgeEvent({ origin: log.origin, slotKey: new Uint8Array(32), version: 2, time: 1, fields: {} })
    const path = log.tree.inclusionProof(index, log.tree.size).map((hash) => hash.with(0, 1 ^ (hash[0] ?? 0)))
    for (const parts of [{ path }, { extra: otherEvent.opening }, { index: 0 }])
      assertRule(verify(proofOf(parts)), 'refuted', parts.index === 0 ? 'inclusion.order' : 'inclusion.root-differs')
    const signed = log.checkpoint()
    const forged = signed.replace(/.{8}\n$/, 'AAAAAAA=\n')
    assertRule(verify(proofOf({ checkpoint: forged })), 'refuted', 'checkpoint.signature')
    const witnesses = { threshold: 1, members: [witness.pinned] }
    const wrong = `${signed}${witness.cosign(log.checkpoint(1, { key: 0 }))}\n`
    assertRule(verify(proofOf({ checkpoint: wrong }), { witnesses }), 'refuted', 'witness.signature')
  })

  it('says nothing if it is cut off, or its extra data are something else', () => {
    for (const text of [proofOf().slice(0, -1), proofOf().slice(0, proofOf().lastIndexOf('—')), ''])
      assert.equal(verify(text).state, 'unreadable', text)
    for (const extra of [undefined, new Uint8Array(120), present(log.openings[0])])
      assertRule(verify(proofOf({ extra })), 'unreadable', 'document.entry')
  })

  it('of another log, or by a key that the policy does not know or that is retired, is not proven', () => {
    const [first, second] = log.pinned
    assertRule(verifyTlogProof(TLOG_PROOF, { policy: { keys: log.pinned } }), 'other-log', 'keys.not-pinned')
    assertRule(verify(proofOf(), { keys: [present(first)] }), 'newer-key', 'keys.newer')
    const retiredAt = 1_700_000_000_000
    const old = (checkpoint: string, policy: Partial<Policy> = {}): BundleResult =>
      verify(proofOf({ checkpoint }, UNTIL, 0), policy)
    const signed = log.checkpoint(UNTIL, { key: 0 })
    // The last tree of the key is pinned.
    assert.equal(old(signed).state, 'proven')
    const { root: _, ...rootless } = present(first)
    const keys = [{ ...rootless, retiredAt }, present(second)]
    assertRule(old(signed, { keys }), 'retired-key', 'keys.retired')
    const witnesses = { threshold: 1, members: [witness.pinned] }
    const cosignedAt = (seconds: number): string => `${signed}${witness.cosign(signed, seconds)}\n`
    assert.equal(old(cosignedAt(retiredAt / 1_000), { keys, witnesses }).state, 'proven')
    assert.equal(old(cosignedAt(retiredAt / 1_000 + 1), { keys, witnesses }).state, 'retired-key')
  })

  it('has no content that could be compared', () => {
    const contents = [{ name: 'a.txt', sha256: toHex(new Uint8Array(32)), size: 1 }]
    const result = verifyTlogProof(proofOf(), { policy: { keys: log.pinned }, contents })
    assert.deepEqual([ruleOf(result), 'file' in result && result.file], [['proven'], 'not-comparable'])
  })
})

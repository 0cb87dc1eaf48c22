import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { fromBase64, sha256, toHex } from '../../../core/bytes.ts'
import { fsck, type Difference } from '../../../core/fsck/index.ts'
import { logKeys } from '../../../core/log/keys.ts'
import type { EvidenceProof } from '../../../core/index.ts'
import { verifyProof, type Policy } from '../../../core/verify/index.ts'
import { tokens, verifyTimestamp } from '../../../core/verify/tokens.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'
import { fillRegistry, openSealedRegistry, type Filled, type SealedRegistry } from '../../support/sealed-registry.ts'
import { openAuthorities } from '../../support/local-authorities.ts'
import type { ScriptedAuthority } from '../../support/scripted-authority.ts'
import { withStatus } from '../../support/registry-fixture.ts'
import { until } from '../../support/manual-clock.ts'

const KEPT = { type: 'ocsp', der: Uint8Array.of(0x30, 1, 5) } as const

/** The trust anchors (DER) of each authority, and how many of them must have stamped. */
interface PinnedAuthorities {
  readonly authorities: readonly (readonly Uint8Array[])[]
  readonly quorum: number
}

describe('proofs with a quorum of time stamp authorities', () => {
  let directory: string
  let sealed: SealedRegistry
  let filled: Filled
  let authorities: readonly ScriptedAuthority[]
  let answer: Extract<EvidenceProof, { readonly status: 'ok' }>

  before(async () => {
    directory = await makeTemporary()
    sealed = await openSealedRegistry(directory, 7, async (clock) => {
      authorities = await openAuthorities(directory, clock, [
        { name: 'a', assurance: 'independent' },
        { name: 'b', assurance: 'independent', skewMs: 7_000 },
        { name: 'c', assurance: 'independent', skewMs: 60_000 },
      ])
      for (const authority of authorities) authority.validationData = [KEPT]
      return { timestampAuthorities: authorities, quorum: 2 }
    })
    filled = await fillRegistry(sealed)
    await until(async () => {
      const proof = await sealed.registry.proofs.evidence({ evidenceId: filled.drill })
      await sealed.clock.advance(1_000)
      if (proof.status !== 'ok') return false
      answer = proof
      return answer.tsas?.length === 3
    })
  })
  after(async () => {
    await sealed.registry.close()
    await removeTemporary(directory)
  })

  const anchorsOf = (): readonly (readonly Uint8Array[])[] => authorities.map(({ info }) => info.trustAnchors)
  const timestampOf = (
    changed: unknown,
    { authorities: pinned = anchorsOf(), quorum = 1 }: Partial<PinnedAuthorities> = {},
  ): string | undefined => {
    const policy: Policy = {
      keys: [{ vkey: sealed.registry.log.verifierKey }],
      authorities: pinned.map((trustAnchors, i) => ({ name: `authority ${i}`, trustAnchors })),
      timestampQuorum: quorum,
    }
    const { steps } = verifyProof(JSON.stringify(changed), { policy, tokens })
    return steps.find(({ name, state }) => name === 'timestamp' || (name === 'document' && state === 'failed'))?.state
  }

  it('contain every token, and claim the time of the second one', () => {
    const { tsa, tsas, assurance } = answer
    assert.ok(tsa && tsas)
    assert.deepEqual(tsas.map(({ authority }) => authority).toSorted(), ['a', 'b', 'c'])
    const times = tsas.map(({ genTime }) => genTime).toSorted()
    assert.equal(tsa.genTime, times[1])
    assert.equal(tsa.authority, 'b')
    const { evidence, ...shown } = tsas.find(({ authority }) => authority === 'b') ?? {}
    assert.deepEqual(shown, tsa)
    assert.deepEqual(evidence, [{ type: 'ocsp', data: Buffer.from(KEPT.der).toString('base64') }])
    assert.equal(assurance?.time, 'independent')
  })

  it('agree with the root and the token of the batch', async () => {
    const { tsa, txId, merkle } = answer
    const root = withStatus(await sealed.registry.proofs.root(txId), 'ok')
    assert.deepEqual([root.tsaGenTime, root.tsaSerial, root.tsaPolicy], [tsa?.genTime, tsa?.serialNumber, tsa?.policy])
    const token = await sealed.registry.proofs.timestampToken(merkle.batchId)
    assert.deepEqual(token, fromBase64(tsa?.token ?? ''))
  })

  it('verify with as many authorities as the verifier requires and trusts', () => {
    for (const quorum of [1, 2]) assert.equal(timestampOf(answer, { quorum }), 'ok')
    // The third token is later than the claimed time.
    assert.equal(timestampOf(answer, { quorum: 3 }), 'failed')
    const [a = [], b = [], c = []] = anchorsOf()
    assert.equal(timestampOf(answer, { authorities: [a, b], quorum: 2 }), 'ok')
    assert.equal(timestampOf(answer, { authorities: [b, c], quorum: 2 }), 'failed')
    assert.equal(timestampOf(answer, { authorities: [b], quorum: 1 }), 'ok')
    assert.equal(timestampOf(answer, { authorities: [a], quorum: 1 }), 'failed', 'tsa itself is not trusted')
    assert.equal(timestampOf(answer, { authorities: [], quorum: 1 }), 'skipped')
    // The same authority under two names counts once.
    assert.equal(timestampOf({ ...answer, tsas: [answer.tsa, answer.tsa] }, { quorum: 2 }), 'failed')
    assert.equal(timestampOf({ ...answer, tsas: undefined }, { quorum: 2 }), 'failed')
    assert.equal(timestampOf({ ...answer, tsas: undefined }, { quorum: 1 }), 'ok')
  })

  it('fail if a token of the quorum is changed, of another checkpoint, or not the one in `tsa`', () => {
    const changed = (name: string, change: object): unknown => ({
      ...answer,
      tsas: answer.tsas?.map((one) => (one.authority === name ? { ...one, ...change } : one)),
    })
    for (const change of [
      { genTime: new Date(0).toISOString() },
      { serialNumber: '00' },
      { token: '' },
      { token: answer.tsa?.token },
      { checkpoint: 'x' },
      { treeSize: 1 },
      { consistency: ['0'.repeat(64)] },
      { evidence: [{ type: 'x', data: '' }] },
      { evidence: 'x' },
    ])
      assert.equal(timestampOf(changed('a', change), { quorum: 2 }), 'failed', JSON.stringify(change).slice(0, 60))
    assert.equal(timestampOf({ ...answer, tsas: answer.tsas?.filter(({ authority }) => authority !== 'b') }), 'failed')
    assert.equal(timestampOf({ ...answer, tsas: 'x' }), 'failed')
  })

  it('contain tokens that verify by themselves', () => {
    for (const { authority, token, checkpoint } of answer.tsas ?? []) {
      const { info } = authorities.find((each) => each.info.name === authority) as ScriptedAuthority
      const data = new TextEncoder().encode(checkpoint)
      assert.ok(verifyTimestamp(fromBase64(token) as Uint8Array, { data, trustAnchors: info.trustAnchors }))
    }
  })

  it('come from a store in which fsck finds no differences, until it is damaged', async () => {
    const { records, blobs, secret } = sealed
    const differences = async (): Promise<Difference[]> => {
      const found: Difference[] = []
      await fsck({ records, blobs, secret }, { onDifference: (difference) => found.push(difference) })
      return found
    }
    assert.deepEqual(await differences(), [])
    const kept = logKeys.validationData(toHex(sha256(KEPT.der)))
    await records.commit({ writes: [{ key: kept, value: Uint8Array.of(1) }] })
    assert.ok((await differences()).every(({ kind }) => kind === 'stamp'))
    assert.ok((await differences()).length > 0)
    await records.commit({ writes: [{ key: kept, value: KEPT.der }] })
    const stray = logKeys.validationData('00')
    await records.commit({ writes: [{ key: stray, value: KEPT.der }] })
    const [first] = await differences()
    assert.deepEqual([first?.kind, first?.key], ['stamp', stray])
    await records.commit({ writes: [{ key: stray, value: null }] })
  })
})

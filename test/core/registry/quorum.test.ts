import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { fromBase64, sha256, toHex } from '../../../core/bytes.ts'
import { logKeys } from '../../../core/log/keys.ts'
import type { EvidenceProof } from '../../../core/index.ts'
import { parsePolicy } from '../../../core/verify/index.ts'
import { verifyTimestamp } from '../../../core/verify/tokens.ts'
import { checkProof } from '../../support/proof-by-hand.ts'
import { openFilledRegistry } from '../../support/sealed-registry.ts'
import type { ScriptedAuthority } from '../../support/scripted-authority.ts'
import { withStatus } from '../../support/registry-fixture.ts'
import { until } from '../../support/manual-clock.ts'
import { differencesIn } from '../../support/whole-store.ts'
import { ofSuite } from '../../support/of-suite.ts'

const KEPT = { type: 'ocsp', der: Uint8Array.of(0x30, 1, 5) } as const

describe('proofs with a quorum of time stamp authorities', () => {
  let answer: Extract<EvidenceProof, { readonly status: 'ok' }>

  const common = { assurance: 'independent', validationData: [KEPT] } as const
  const authorities = [
    { ...common, name: 'a' },
    { ...common, name: 'b', skewMs: 7_000 },
    { ...common, name: 'c', skewMs: 60_000 },
  ]
  const sealed = ofSuite(() => openFilledRegistry(undefined, { authorities, quorum: 2 }))
  before(async () => {
    await until(async () => {
      const proof = await sealed().registry.proofs.evidence({ evidenceId: sealed().filled.drill })
      await sealed().clock.advance(1_000)
      if (proof.status !== 'ok') return false
      answer = proof
      return answer.tsas?.length === 3
    })
  })

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
    const root = withStatus(await sealed().registry.proofs.root(txId), 'ok')
    assert.deepEqual([root.tsaGenTime, root.tsaSerial, root.tsaPolicy], [tsa?.genTime, tsa?.serialNumber, tsa?.policy])
    const token = await sealed().registry.proofs.timestampToken(merkle.batchId)
    assert.deepEqual(token, fromBase64(tsa?.token ?? ''))
  })

  it('verify with as many authorities as vouch for the claimed time', () => {
    const check = (timestampQuorum: number, names = ['a', 'b', 'c']): void =>
      checkProof(answer, {
        keys: [{ vkey: sealed().registry.log.verifierKey }],
        authorities: sealed()
          .authorities.filter(({ info }) => names.includes(info.name))
          .map(({ info: { name, trustAnchors } }) => ({ name, trustAnchors })),
        timestampQuorum,
      })
    check(2)
    check(2, ['a', 'b'])
    // The third token is later than the claimed time.
    assert.throws(() => check(3))
    assert.throws(() => check(2, ['b', 'c']))
  })

  it('hold for each kind of document', async () => {
    const { proofs, log } = sealed().registry
    const policy = parsePolicy(JSON.stringify(await log.policy()))
    const { drill, keptFile, billFile, deletedFile } = sealed().filled
    const files = await Promise.all(
      [keptFile, billFile, deletedFile].map((fileId) => proofs.file({ evidenceId: drill, fileId })),
    )
    const statuses = files.map(({ status }) => status)
    assert.deepEqual(statuses, ['ok', 'ok', 'deleted'])
    for (const document of [...files, await proofs.transaction(answer.txId)]) checkProof(document, policy)
  })

  it('contain tokens that verify by themselves', () => {
    for (const { authority, token, checkpoint } of answer.tsas ?? []) {
      const { info } = sealed().authorities.find((each) => each.info.name === authority) as ScriptedAuthority
      const data = new TextEncoder().encode(checkpoint)
      assert.ok(verifyTimestamp(fromBase64(token) as Uint8Array, { data, trustAnchors: info.trustAnchors }))
    }
  })

  it('come from a store in which fsck finds no differences, until it is damaged', async () => {
    const { records, blobs, secret } = sealed()
    assert.deepEqual(await differencesIn({ records, blobs, secret }), [])
    const kept = logKeys.validationData(toHex(sha256(KEPT.der)))
    await records.commit({ writes: [{ key: kept, value: Uint8Array.of(1) }] })
    assert.ok((await differencesIn({ records, blobs, secret })).every(({ kind }) => kind === 'stamp'))
    assert.ok((await differencesIn({ records, blobs, secret })).length > 0)
    await records.commit({ writes: [{ key: kept, value: KEPT.der }] })
    const stray = logKeys.validationData('00')
    await records.commit({ writes: [{ key: stray, value: KEPT.der }] })
    const [first] = await differencesIn({ records, blobs, secret })
    assert.deepEqual([first?.kind, first?.key], ['stamp', stray])
    await records.commit({ writes: [{ key: stray, value: null }] })
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EvidenceProof } from '../../../core/index.ts'
import type { Policy } from '../../../core/verify/index.ts'
import { checkProof } from '../../support/proof-by-hand.ts'
import { OpensslAuthority, skipWithoutOpenssl } from '../../support/openssl.ts'
import { eventually } from '../../support/eventually.ts'
import { RunningRegistry } from '../../support/running-registry.ts'

describe('the bundled server with real timestamp authorities', { skip: skipWithoutOpenssl() }, () => {
  it('stamps with two of them, and returns both tokens', async (t) => {
    const authorities = await Promise.all([OpensslAuthority.open(), OpensslAuthority.open({ kind: 'rsa' })])
    t.after(async () => void (await Promise.all(authorities.map((authority) => authority.close()))))
    const registry = await RunningRegistry.start(t, undefined, {
      EVIDENCE_TSA: 'rfc3161',
      EVIDENCE_TSA_INTERVAL_MS: '0',
      EVIDENCE_TSA_URL: authorities.map(({ url }) => `${url}/hunter2?secret=hunter2`).join(),
      EVIDENCE_TSA_CA: authorities.map(({ caFile }) => caFile).join(),
      EVIDENCE_TSA_QUORUM: '2',
    })
    const { server, url } = registry
    const { verifierKey } = (await server.readyLine()) as { verifierKey: string }
    await registry.create('one')
    const proof = await eventually(async () => {
      const response = (await (await fetch(`${url}/api/v1/merkle/verify/one`)).json()) as EvidenceProof
      return response.status === 'ok' && response.tsas?.length === 2 ? response : undefined
    })
    assert.equal(proof.assurance.time, 'independent')
    const policy: Policy = {
      keys: [{ vkey: verifierKey }],
      authorities: authorities.map(({ trustAnchor }, i) => ({ name: `authority ${i}`, trustAnchors: [trustAnchor] })),
      timestampQuorum: 2,
    }
    assert.equal(proof.tsas?.length, 2)
    checkProof(proof, policy)
    assert.equal(await server.stop(), 0)
    assert.doesNotMatch(server.output, /hunter2/)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EvidenceProof } from '../../../core/index.ts'
import type { Policy } from '../../../core/verify/index.ts'
import { checkProof } from '../../support/proof-by-hand.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { OpensslAuthority, skipWithoutOpenssl } from '../../support/openssl.ts'
import { eventually } from '../../support/eventually.ts'
import { ServerProcess } from '../../support/server-process.ts'

describe('the bundled server with real timestamp authorities', { skip: skipWithoutOpenssl() }, () => {
  it('stamps with two of them, and returns both tokens', async (t) => {
    const directory = await temporaryFor(t)
    const authorities = await Promise.all([OpensslAuthority.open(), OpensslAuthority.open({ kind: 'rsa' })])
    t.after(async () => void (await Promise.all(authorities.map((authority) => authority.close()))))
    const key = 'operator-key-of-a-test'
    const server = new ServerProcess(directory, {
      EVIDENCE_OPERATOR_KEY: key,
      EVIDENCE_TSA: 'rfc3161',
      EVIDENCE_TSA_INTERVAL_MS: '0',
      EVIDENCE_TSA_URL: authorities.map(({ url }) => `${url}/?secret=hunter2`).join(),
      EVIDENCE_TSA_CA: authorities.map(({ caFile }) => caFile).join(),
      EVIDENCE_TSA_QUORUM: '2',
    })
    t.after(() => server.stop('SIGKILL'))
    const { url, verifierKey } = (await server.readyLine()) as { url: string; verifierKey: string }
    const post = async (path: string, body: object): Promise<void> => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' }
      const response = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      assert.equal(response.status, 201, await response.text())
    }
    await post('/sourceSystem/acme', { name: 'warehouse' })
    const evidence = { externalId: 'one', name: 'One', categoryName: 'Tools', subcategoryName: 'Drills' }
    await post('/evidences/acme/evidence', evidence)
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

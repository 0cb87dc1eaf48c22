import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { EvidenceProof } from '../../../core/index.ts'
import type { Policy } from '../../../core/verify/index.ts'
import type { Logger } from '../../../core/ports/index.ts'
import { loadConfig, type Config } from '../../../server/settings/load.ts'
import { openTimestampAuthorities } from '../../../server/startup/timestamp-authorities.ts'
import { checkProof } from '../../support/proof-by-hand.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { OpensslAuthority, skipWithoutOpenssl } from '../../support/openssl.ts'
import { certificateToPem } from '../../../adapters/local-tsa/certificates.ts'
import { derOf } from '../../support/test-authority.ts'
import { rootOf } from '../../support/faulty-authority.ts'
import { eventually } from '../../support/eventually.ts'
import { ServerProcess } from '../../support/server-process.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

const configOf = (env: Readonly<Record<string, string>>): Config => loadConfig({ args: [], env })

describe('the timestamp authorities of the settings', () => {
  async function openFor(t: TestContext, env: Readonly<Record<string, string>>) {
    const directory = await temporaryFor(t)
    for (const name of ['a', 'b'])
      await writeFile(join(directory, `${name}.pem`), certificateToPem(derOf((await rootOf(name)).certificate)))
    const given = Object.entries(env).map(([name, value]) => [name, value.replaceAll('DIR', directory)])
    return openTimestampAuthorities(configOf(Object.fromEntries(given) as Record<string, string>), directory, silent)
  }

  it('are the embedded one or none', async (t) => {
    const { timestampAuthorities, quorum } = await openFor(t, {})
    assert.deepEqual([timestampAuthorities.map(({ info }) => info.name), quorum], [['local'], undefined])
    assert.deepEqual((await openFor(t, { EVIDENCE_TSA: 'none' })).timestampAuthorities, [])
  })

  it('are those of the URLs, each with its own file of trust anchors', async (t) => {
    const { timestampAuthorities, quorum } = await openFor(t, {
      EVIDENCE_TSA: 'rfc3161',
      EVIDENCE_TSA_URL: 'http://a.example/tsr, https://me:hunter2@b.example/?key=hunter2',
      EVIDENCE_TSA_CA: 'DIR/a.pem,DIR/b.pem',
      EVIDENCE_TSA_POLICY: ',1.2.3',
      EVIDENCE_TSA_QUORUM: '2',
    })
    assert.equal(quorum, 2)
    assert.deepEqual(
      await Promise.all(
        timestampAuthorities.map(async ({ info }) => ({ ...info, trustAnchors: info.trustAnchors.length })),
      ),
      [
        { name: 'a.example/tsr', assurance: 'independent', trustAnchors: 1 },
        { name: 'b.example', assurance: 'independent', trustAnchors: 1 },
      ],
    )
  })

  it('are rejected with the name of the wrong setting, and a password is not shown', async (t) => {
    const url = { EVIDENCE_TSA: 'rfc3161', EVIDENCE_TSA_URL: 'http://a.example/' }
    for (const [env, names] of [
      [{ EVIDENCE_TSA: 'rfc3161' }, /EVIDENCE_TSA_URL/],
      [{ ...url }, /EVIDENCE_TSA_CA/],
      [{ ...url, EVIDENCE_TSA_CA: 'DIR/a.pem,DIR/b.pem' }, /EVIDENCE_TSA_CA/],
      [{ ...url, EVIDENCE_TSA_CA: 'DIR/none.pem' }, /none\.pem/],
      [{ ...url, EVIDENCE_TSA_CA: 'DIR/a.pem', EVIDENCE_TSA_POLICY: '1.2,1.3' }, /EVIDENCE_TSA_POLICY/],
      [{ ...url, EVIDENCE_TSA: 'local' }, /EVIDENCE_TSA is local/],
      [{ EVIDENCE_TSA_CA: 'DIR/a.pem' }, /EVIDENCE_TSA is local/],
      [{ ...url, EVIDENCE_TSA_URL: 'http://me:hunter2@a.example/', EVIDENCE_TSA_CA: 'DIR/a.pem' }, /https/],
      [{ ...url, EVIDENCE_TSA_URL: 'hunter2' }, /EVIDENCE_TSA_URL/],
      [{ EVIDENCE_TSA: 'freetsa' }, /EVIDENCE_TSA /],
      [{ EVIDENCE_TSA_QUORUM: '0' }, /EVIDENCE_TSA_QUORUM/],
      [{ EVIDENCE_TSA_QUORUM: '9' }, /EVIDENCE_TSA_QUORUM/],
    ] as const)
      await assert.rejects(openFor(t, env), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'CONFIG_ERROR')
        assert.match(error.message, names)
        assert.doesNotMatch(error.message, /hunter2/)
        return true
      })
  })
})

describe('the bundled server with real timestamp authorities', { skip: skipWithoutOpenssl() }, () => {
  it('stamps with two of them, and returns both tokens', async (t) => {
    const directory = await temporaryFor(t)
    const authorities = await Promise.all([OpensslAuthority.open(), OpensslAuthority.open({ kind: 'rsa' })])
    t.after(async () => void (await Promise.all(authorities.map((authority) => authority.close()))))
    const key = 'operator-key-of-a-test'
    const server = new ServerProcess(directory, {
      EVIDENCE_OPERATOR_KEY: key,
      EVIDENCE_TSA: 'rfc3161',
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

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { certificateToPem } from '../../../adapters/local-tsa/certificates.ts'
import { createSealer } from '../../../sealer/index.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { openTimestampAuthorities } from '../../../server/startup/timestamp-authorities.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { authorityNamed, derOf } from '../../support/test-authority.ts'

describe('the timestamp authorities of the settings', () => {
  async function openFor(t: TestContext, env: Readonly<Record<string, string>>) {
    const directory = await temporaryFor(t)
    for (const name of ['a', 'b'])
      await writeFile(join(directory, `${name}.pem`), certificateToPem(derOf((await authorityNamed(name)).certificate)))
    const given = Object.entries(env).map(([name, value]) => [name, value.replaceAll('DIR', directory)])
    const config = loadConfig({ args: [], env: Object.fromEntries(given) as Record<string, string> })
    return openTimestampAuthorities(config, directory, { logger: silentLogger })
  }

  it('are the embedded one or none', async (t) => {
    const authorities = await openFor(t, {})
    const shownNames = authorities.map(({ info }) => info.name)
    assert.deepEqual(shownNames, ['local'])
    assert.deepEqual(await openFor(t, { EVIDENCE_TSA: 'none' }), [])
  })

  it('are those of the URLs, each with its own file of trust anchors', async (t) => {
    const authorities = await openFor(t, {
      EVIDENCE_TSA: 'rfc3161',
      EVIDENCE_TSA_URL: 'http://a.example/tsr, https://me:hunter2@b.example/?key=hunter2',
      EVIDENCE_TSA_CA: 'DIR/a.pem,DIR/b.pem',
      EVIDENCE_TSA_POLICY: ',1.2.3',
    })
    const listed = authorities.map(({ info }) => ({ ...info, trustAnchors: info.trustAnchors.length }))
    assert.deepEqual(listed, [
      { name: 'a.example/tsr', label: 'a.example', assurance: 'independent', trustAnchors: 1 },
      { name: 'b.example', label: 'b.example', assurance: 'independent', trustAnchors: 1 },
    ])
  })

  it('are named by their hosts in errors, with a number if two have the same', async (t) => {
    const authorities = await openFor(t, {
      EVIDENCE_TSA: 'rfc3161',
      EVIDENCE_TSA_URL: 'http://127.0.0.1:1/hunter2, http://127.0.0.1:1/hunter2/b',
      EVIDENCE_TSA_CA: 'DIR/a.pem,DIR/b.pem',
    })
    for (const [i, authority] of authorities.entries())
      await assert.rejects(authority.stamp(new Uint8Array(1)), (error: Error) => {
        assert.ok(error.message.startsWith(`127.0.0.1:1 (${i + 1}): it cannot be reached`), error.message)
        return true
      })
    assert.throws(
      () => createSealer({ timestampAuthorities: [...authorities, ...authorities] }),
      (error: Error) => /127\.0\.0\.1:1 \(1\) and 127\.0\.0\.1:1 \(1\) have/.test(error.message),
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

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createRfc3161Authority, readTrustAnchors, type Rfc3161Options } from '../../../adapters/rfc3161/index.ts'
import type { ValidationData } from '../../../core/ports/index.ts'
import { parseTimestampResponse, verifyTimestamp } from '../../../core/verify/tokens.ts'
import { HttpProxy } from '../../support/http-proxy.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { OpensslAuthority, skipWithoutOpenssl } from '../../support/openssl.ts'
import { recordingLogger } from '../../support/recording-logger.ts'

const data = new TextEncoder().encode('the bytes of a checkpoint')

/** Only ends a test that hangs. */
const LONG_TIMEOUT_MS = 300_000

describe('a real timestamp authority', { skip: skipWithoutOpenssl() }, () => {
  let openssl: OpensslAuthority
  before(async () => {
    openssl = await OpensslAuthority.open()
  })
  after(() => openssl.close())

  const clientOf = (server: OpensslAuthority, options: Partial<Rfc3161Options> = {}) =>
    createRfc3161Authority({
      url: server.url,
      trustAnchors: [server.trustAnchor],
      revocation: 'any',
      timeoutMs: LONG_TIMEOUT_MS,
      ...options,
    })

  for (const hash of ['sha256', 'sha384', 'sha512'] as const)
    it(`stamps a ${hash} with ECDSA`, async () => {
      const token = await clientOf(openssl, { hash }).stamp(data)
      const info = verifyTimestamp(token, { data, trustAnchors: [openssl.trustAnchor] })
      assert.equal(info.hashAlgorithm, hash)
      assert.equal(info.policy, openssl.policy)
    })

  it('stamps with RSA, and openssl verifies the token', async (t) => {
    const rsa = await OpensslAuthority.open({ kind: 'rsa' })
    t.after(() => rsa.close())
    const token = await clientOf(rsa).stamp(data)
    const [file, reply] = [join(rsa.directory, 'data'), join(rsa.directory, 'token')]
    await writeFile(file, data)
    await writeFile(reply, token)
    const { stdout, stderr } = spawnSync(
      'openssl',
      ['ts', '-verify', '-data', file, '-in', reply, '-CAfile', rsa.caFile],
      { encoding: 'utf8' },
    )
    assert.match(stdout + stderr, /Verification: OK/)
    await assert.rejects(clientOf(rsa, { trustAnchors: [openssl.trustAnchor] }).stamp(data), {
      code: 'AUTHORITY_FAILED',
    })
  })

  it('requests a policy and rejects any other', async () => {
    const token = await clientOf(openssl, { policy: openssl.otherPolicy }).stamp(data)
    assert.equal(parseTimestampResponse(token).policy, openssl.otherPolicy)
    await assert.rejects(clientOf(openssl, { policy: '1.2.3.4.9' }).stamp(data), {
      code: 'AUTHORITY_FAILED',
      message: /rejection, unacceptedPolicy/,
    })
  })

  it('is named after its host and path, in errors after its host, and is independent', () => {
    const { info } = clientOf(openssl, { url: `${openssl.url}/tsr/?key=secret` })
    assert.deepEqual(info, {
      name: `${new URL(openssl.url).host}/tsr`,
      label: new URL(openssl.url).host,
      assurance: 'independent',
      trustAnchors: [openssl.trustAnchor],
    })
  })

  it('reads trust anchors from a PEM file, or names the file that cannot be used', async () => {
    assert.deepEqual(await readTrustAnchors(openssl.caFile), [openssl.trustAnchor])
    for (const name of ['missing.pem', 'tsa.key'])
      await assert.rejects(readTrustAnchors(join(openssl.directory, name)), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'CONFIG_ERROR')
        assert.match(error.message, new RegExp(name.replace('.', '\\.')))
        assert.doesNotMatch(error.message, /PRIVATE/)
        return true
      })
  })

  it('rejects invalid options', () => {
    for (const options of [
      { url: 'ftp://me:hunter2@tsa.example/' },
      { url: 'hunter2' },
      { url: 'http://me:hunter2@tsa.example/' },
      { url: 'https://me:hunter2%ff@tsa.example/' },
      { trustAnchors: [] },
      { trustAnchors: [new Uint8Array(7)] },
      { policy: 'x' },
      { timeoutMs: 0 },
      { maxSkewMs: Number.NaN },
      { maxSkewMs: -1 },
      { hash: 'sha1' as 'sha256' },
    ])
      assert.throws(
        () => clientOf(openssl, options),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, 'CONFIG_ERROR')
          assert.doesNotMatch(error.message, /hunter2/)
          return true
        },
      )
  })

  it('sends name and password over https only to a trusted server, and shows them in no error', async (t) => {
    const directory = await temporaryFor(t)
    const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
    const tlsCa = await readFile(cert, 'latin1')
    // A proxy in front of the real authority.
    const tls = createServer({ key: await readFile(key), cert: tlsCa }, (incoming, outgoing) => {
      const { method, headers } = incoming
      const forwarded = request(openssl.url, { method, headers }, (reply) => {
        outgoing.writeHead(reply.statusCode ?? 500, reply.headers)
        reply.pipe(outgoing)
      })
      incoming.pipe(forwarded)
    }).listen(0, '127.0.0.1')
    await once(tls, 'listening')
    t.after(() => tls.close())
    const { port } = tls.address() as AddressInfo
    const url = `https://me:hunter%32@127.0.0.1:${port}/`
    assert.ok(await clientOf(openssl, { url, tlsCa }).stamp(data))
    assert.equal(openssl.lastHeaders.authorization, `Basic ${btoa('me:hunter2')}`)
    const untrusting = clientOf(openssl, { url })
    assert.equal(untrusting.info.name, `127.0.0.1:${port}`)
    await assert.rejects(untrusting.stamp(data), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'AUTHORITY_FAILED')
      assert.match(error.message, /SELF_SIGNED/)
      assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /hunter/)
      return true
    })
  })
})

describe('the validation data of a token', { skip: skipWithoutOpenssl() }, () => {
  async function openFor(
    t: { after(fn: () => Promise<void>): void },
    names: readonly ('ocsp' | 'crl')[],
    options: Partial<Rfc3161Options> = {},
  ) {
    const openssl = await OpensslAuthority.open({ names })
    t.after(() => openssl.close())
    const { logger, lines } = recordingLogger()
    const trustAnchors = [openssl.trustAnchor]
    const url = openssl.url
    const authority = createRfc3161Authority({
      url,
      trustAnchors,
      revocation: 'any',
      timeoutMs: LONG_TIMEOUT_MS,
      logger,
      ...options,
    })
    return { openssl, authority, lines, trustAnchors }
  }
  const typesOf = (validationData: readonly ValidationData[]): string[] => validationData.map(({ type }) => type)

  it('is the trust anchor and the OCSP response, fetched once an hour', async (t) => {
    const { openssl, authority, trustAnchors } = await openFor(t, ['ocsp', 'crl'])
    const token = await authority.stamp(data)
    const validationData = await authority.validationDataOf(token)
    assert.deepEqual(typesOf(validationData), ['certificate', 'ocsp'])
    assert.deepEqual(validationData[0]?.der, openssl.trustAnchor)
    const { revocation } = verifyTimestamp(token, { data, trustAnchors, validationData })
    assert.equal(revocation?.length, 1)
    assert.deepEqual([revocation[0]?.state, revocation[0]?.subject], ['good', 'CN=signer'])
    await authority.validationDataOf(await authority.stamp(data))
    assert.deepEqual(openssl.requestCounts, { stamp: 2, ocsp: 1, crl: 0 })
  })

  it('is a CRL if there is no OCSP', async (t) => {
    const { openssl, authority, trustAnchors } = await openFor(t, ['crl'])
    const token = await authority.stamp(data)
    const validationData = await authority.validationDataOf(token)
    assert.deepEqual(typesOf(validationData), ['certificate', 'crl'])
    assert.equal(verifyTimestamp(token, { data, trustAnchors, validationData }).revocation?.[0]?.state, 'good')
    assert.deepEqual(openssl.requestCounts, { stamp: 1, ocsp: 0, crl: 1 })
  })

  it('is fetched through the proxy', async (t) => {
    const { openssl, trustAnchors } = await openFor(t, ['crl'])
    const { host, port } = new URL(openssl.url)
    const proxy = await HttpProxy.start({ [host]: Number(port), 'tsa.example': Number(port) })
    t.after(() => proxy.stop())
    const url = 'http://tsa.example/'
    const proxies = { httpProxy: proxy.url() }
    const authority = createRfc3161Authority({ url, trustAnchors, revocation: 'any', proxies })
    const token = await authority.stamp(data)
    assert.deepEqual(typesOf(await authority.validationDataOf(token)), ['certificate', 'crl'])
    const shown = proxy.requests.map((line) => line.split('/', 4)[2])
    assert.deepEqual(shown, ['tsa.example', host])
  })

  it('is the trust anchor alone if the certificate names no addresses, or none may be used', async (t) => {
    const { authority } = await openFor(t, [])
    assert.deepEqual(typesOf(await authority.validationDataOf(await authority.stamp(data))), ['certificate'])
    const offline = await openFor(t, ['ocsp'], { revocation: 'none' })
    assert.deepEqual(typesOf(await offline.authority.validationDataOf(await offline.authority.stamp(data))), [
      'certificate',
    ])
    assert.equal(offline.openssl.requestCounts.ocsp, 0)
  })

  it('is not fetched from addresses of this machine or its network by default', async (t) => {
    const { openssl, authority, lines } = await openFor(t, ['ocsp', 'crl'], { revocation: 'public' })
    assert.deepEqual(typesOf(await authority.validationDataOf(await authority.stamp(data))), ['certificate'])
    assert.deepEqual(openssl.requestCounts, { stamp: 1, ocsp: 0, crl: 0 })
    assert.equal(lines.length, 2)
  })

  it('rejects a token whose certificate is revoked', async (t) => {
    for (const names of [['ocsp'], ['crl']] as const) {
      const { openssl, authority } = await openFor(t, names)
      await openssl.revoke(new Date(Date.now() - 60_000), 'superseded')
      const token = await authority.stamp(data)
      await assert.rejects(authority.validationDataOf(token), { code: 'AUTHORITY_FAILED', message: /revoked/ })
    }
  })
})

import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { createServer } from 'node:tls'
import { webcrypto } from 'node:crypto'
import * as pkijs from 'pkijs'
import { RpcEndpoints } from '../../adapters/evm/rpc.ts'
import { openPostgresRecords } from '../../adapters/postgres/index.ts'
import { openEvmAnchor } from '../../adapters/evm/index.ts'
import { pauseAskedFor, Proxies } from '../../adapters/outside.ts'
import { createRfc3161Authority, type Rfc3161Options } from '../../adapters/rfc3161/index.ts'
import { CHAIN_ID, newAccount } from '../support/anvil.ts'
import { FakeNode } from '../support/fake-node.ts'
import { FaultyAuthority } from '../support/faulty-authority.ts'
import { HttpProxy } from '../support/http-proxy.ts'
import { listenOnLoopback } from '../support/ports.ts'
import { authorityNamed, derOf, extension } from '../support/test-authority.ts'

const portIn = (url: string): number => Number(new URL(url).port)

/** A TLS server for a name, in front of a port. */
async function startTls(name: string, port: number) {
  const names = new pkijs.GeneralNames({ names: [new pkijs.GeneralName({ type: 2, value: name })] })
  const { certificate, keys } = await authorityNamed(`TLS ${name}`, {
    keyUsage: 0x86,
    extensions: [extension('2.5.29.17', false, names.toSchema())],
  })
  const pem = (label: string, der: ArrayBuffer | Uint8Array): string =>
    `-----BEGIN ${label}-----\n${Buffer.from(der as Uint8Array).toString('base64')}\n-----END ${label}-----\n`
  const cert = pem('CERTIFICATE', derOf(certificate))
  const key = pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  const server = createServer({ cert, key }, (socket) => {
    const target = connect(port, '127.0.0.1')
    socket
      .on('error', () => target.destroy())
      .pipe(target.on('error', () => socket.destroy()))
      .pipe(socket)
  })
  return { server, cert, port: await listenOnLoopback(server) }
}

describe('services outside, behind a proxy', () => {
  let authority: FaultyAuthority
  let node: FakeNode
  let tls: Awaited<ReturnType<typeof startTls>>
  let proxy: HttpProxy
  before(async () => {
    ;[authority, node] = await Promise.all([FaultyAuthority.open(), FakeNode.start()])
    tls = await startTls('tsa.example', portIn(authority.url))
    proxy = await HttpProxy.start({
      'tsa.example': portIn(authority.url),
      'tsa.example:443': tls.port,
      'rpc.example:8545': portIn(node.url),
    })
  })
  after(async () => {
    await Promise.all([authority.close(), node.stop(), proxy.stop()])
    tls.server.close()
  })

  const stamp = (options: Partial<Rfc3161Options>): Promise<Uint8Array> =>
    createRfc3161Authority({
      url: 'https://tsa.example/tsr',
      trustAnchors: [authority.trustAnchor],
      tlsCa: tls.cert,
      ...options,
    }).stamp(new Uint8Array(1))

  it('get https through a connection, and http as whole addresses', async () => {
    await stamp({ proxies: { httpsProxy: proxy.url() } })
    await stamp({ proxies: { httpsProxy: proxy.url() }, url: 'http://tsa.example/tsr' })
    assert.deepEqual(proxy.requests.splice(0), ['CONNECT tsa.example:443', 'POST http://tsa.example/tsr'])
    await stamp({ proxies: { httpsProxy: proxy.url(), noProxy: '127.0.0.1' }, url: authority.url })
    assert.deepEqual(proxy.requests, [])
  })

  it('are checked behind the proxy, too, and a refusal is an error', async () => {
    const proxies = { httpsProxy: proxy.url() }
    const rejects = (options: Partial<Rfc3161Options>, message: RegExp): Promise<void> =>
      assert.rejects(stamp({ proxies, ...options }), { code: 'AUTHORITY_FAILED', message })
    const other = await authorityNamed('another TLS')
    const base64 = Buffer.from(derOf(other.certificate)).toString('base64')
    const tlsCa = `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`
    await rejects({ tlsCa }, /connection was lost \(\w*(SELF_SIGNED|ISSUER)/)
    await rejects({ url: 'https://elsewhere.example/' }, /its proxy refused to connect \(HTTP 502\)/)
    const wrong = { httpsProxy: proxy.url('user:wrong') }
    await rejects({ proxies: wrong }, /its proxy refused to connect \(HTTP 407\)/)
    await rejects({ proxies: wrong, url: 'http://tsa.example/' }, /HTTP 407/)
    proxy.requests.length = 0
  })

  it('include the nodes of a chain', async () => {
    const account = await newAccount()
    const options = { chainId: CHAIN_ID, account, maxFeePerGas: 10n ** 11n, proxies: { httpProxy: proxy.url() } }
    const anchor = await openEvmAnchor({ ...options, rpcUrls: ['http://rpc.example:8545/v2'] })
    await anchor.prepare({ checkpoint: new Uint8Array(250).fill(65) })
    await anchor.close()
    assert.ok(proxy.requests.length > 3)
    assert.deepEqual(new Set(proxy.requests), new Set(['POST http://rpc.example:8545/v2']))
  })
})

describe('the proxies of the settings', () => {
  const HTTPS = 'proxy.example:3128'
  const hostFor = (url: string, noProxy = '', httpProxy?: string): string | undefined =>
    new Proxies({ httpsProxy: HTTPS, httpProxy, noProxy }).for(new URL(url))?.address.hostname

  it('are chosen by the scheme', () => {
    assert.equal(hostFor('https://a.example'), 'proxy.example')
    assert.equal(hostFor('http://a.example'), 'proxy.example')
    assert.equal(hostFor('http://a.example', '', 'http://other.example'), 'other.example')
    assert.equal(new Proxies({ httpProxy: HTTPS }).for(new URL('https://a.example')), undefined)
    assert.equal(new Proxies().for(new URL('https://a.example')), undefined)
  })

  it('are not used for what noProxy names', () => {
    const urls = [
      'http://a.example',
      'https://b.a.example:8443',
      'https://ba.example',
      'http://10.0.0.1',
      'http://[::1]',
    ]
    for (const [noProxy, direct] of [
      ['', []],
      ['*', urls],
      ['A.example', urls.slice(0, 2)],
      ['.a.example, 10.0.0.1', [...urls.slice(0, 2), urls[3]]],
      ['*.a.example:8443', [urls[1]]],
      ['10.0.0.1:80 [::1]', urls.slice(3)],
      ['10.0.0.1:81,example.com,[::1]:80', [urls[4]]],
      ['10.0.0.0/8', [urls[3]]],
      ['10.0.0.0/32, 11.0.0.0/8 ::/0', [urls[4]]],
      ['::1 10.0.0.1/32', urls.slice(3)],
      ['10.0.0.0/33, 10.0.0.0/, 10.0.0/8, /0, a.example/8, ::1/129', []],
    ] as const)
      assert.deepEqual(
        urls.filter((url) => hostFor(url, noProxy) === undefined),
        direct,
        noProxy,
      )
  })

  it('must be http', () => {
    for (const httpsProxy of ['socks5://secret@x', 'https://secret@x', 'http://', 'a b'])
      assert.throws(() => new Proxies({ httpsProxy }), { code: 'CONFIG_ERROR', message: /^(?!.*secret).*an http URL$/ })
  })

  it('and nodes, authorities and databases must have a percent-encoded password', async () => {
    const message = /^(?!.*pa%ss).*percent-encoded.*: write % as %25/
    const of = { code: 'CONFIG_ERROR', message }
    assert.throws(() => new Proxies({ httpsProxy: 'http://u:pa%ss@h:1' }), of)
    assert.throws(() => new RpcEndpoints(['https://u:pa%ss@h'], { chainId: 1, timeoutMs: 1 }), of)
    await assert.rejects(openPostgresRecords({ url: 'postgres://u:pa%ss@h/x' }), of)
    const trustAnchors = [new Uint8Array()]
    await assert.rejects(async () => createRfc3161Authority({ url: 'https://u:pa%ss@h', trustAnchors }), of)
  })
})

it('a pause is obeyed for 429 and 503, in seconds or as a date, and at most for a day', () => {
  const date = 'Thu, 01 Jan 2026 00:00:00 GMT'
  for (const [status, asked, ms] of [
    [429, '600', 600_000],
    [503, ' 7 ', 7_000],
    [503, 'Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    [429, '99999999', 86_400_000],
    [429, 'Thu, 01 Jan 2099 00:00:00 GMT', 86_400_000],
    [429, 'Wed, 31 Dec 2025 00:00:00 GMT', undefined],
    [429, '0', undefined],
    [429, 'soon', undefined],
    [429, undefined, undefined],
    [500, '600', undefined],
    [200, '600', undefined],
  ] as const) {
    const response = { statusCode: status, headers: { date, ...(asked !== undefined && { 'retry-after': asked }) } }
    assert.equal(pauseAskedFor(response as IncomingMessage), ms, `${status} ${asked}`)
  }
})

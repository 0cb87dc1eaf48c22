import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { certificatesFromPem } from '../../core/verify/index.ts'
import { present } from './present.ts'
import { buffer } from 'node:stream/consumers'

const run = promisify(execFile)

/**
 * Returns why the tests with openssl are skipped, or `false` if they run. Throws on CI, where every program must be
 * present.
 */
export function skipWithoutOpenssl(): string | false {
  if (spawnSync('openssl', ['version']).status === 0) return false
  assert.equal(process.env['CI'] ?? '', '', 'openssl is missing: apt-get install openssl')
  return 'SKIPPED: openssl is missing, so there is no real timestamp authority: apt-get install openssl'
}

export interface OpensslAuthorityOptions {
  readonly kind?: 'ec' | 'rsa'
  /** Which revocation addresses the signer's certificate contains. Default: none. */
  readonly names?: readonly ('ocsp' | 'crl')[]
}

/** A real timestamp authority: `openssl ts` behind HTTP, with a CA that also serves OCSP and a CRL. */
export class OpensslAuthority {
  readonly url: string
  readonly directory: string
  readonly trustAnchor: Uint8Array
  readonly policy = '1.2.3.4.1'
  readonly otherPolicy = '1.2.3.4.5'
  /** The number of requests of each kind. */
  readonly requestCounts = { stamp: 0, ocsp: 0, crl: 0 }
  /** Headers of the last timestamp request. */
  lastHeaders: IncomingMessage['headers'] = {}
  readonly #server: Server
  /** Stamps run one after the other, because `openssl ts` rewrites its file of serial numbers. */
  #stamps: Promise<unknown> = Promise.resolve()

  private constructor(directory: string, server: Server, trustAnchor: Uint8Array) {
    this.directory = directory
    this.#server = server
    this.trustAnchor = trustAnchor
    this.url = originOf(server)
  }

  static async open({ kind = 'ec', names = [] }: OpensslAuthorityOptions = {}): Promise<OpensslAuthority> {
    const directory = await mkdtemp(join(tmpdir(), 'evidence-tsa-'))
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const pem = await makeAuthority(directory, kind, names, originOf(server))
      const authority = new OpensslAuthority(directory, server, present(certificatesFromPem(pem)[0]))
      server.on('request', (request, response) => void authority.#respond(request, response))
      return authority
    } catch (error) {
      server.close()
      await rm(directory, { recursive: true, force: true })
      throw error
    }
  }

  get caFile(): string {
    return join(this.directory, 'ca.pem')
  }

  /** Revokes the signer's certificate. `reason` has openssl's spelling. Without it the CRL entry has no reason. */
  async revoke(at: Date, reason?: string): Promise<void> {
    const revoked = reason === undefined ? utcTime(at) : `${utcTime(at)},${reason}`
    const entry = `R\t350101000000Z\t${revoked}\t${SERIAL}\tunknown\t/CN=signer\n`
    await writeFile(join(this.directory, 'index.txt'), entry)
  }

  /** The current CRL, DER. */
  async crl(): Promise<Uint8Array> {
    const path = join(this.directory, `crl-${this.requestCounts.crl++}`)
    await this.#openssl('ca', '-gencrl', '-config', 'ca.cnf', '-out', `${path}.pem`)
    await this.#openssl('crl', '-in', `${path}.pem`, '-outform', 'DER', '-out', `${path}.der`)
    return new Uint8Array(await readFile(`${path}.der`))
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await this.#stamps
    await rm(this.directory, { recursive: true, force: true })
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await buffer(request)
      if (request.url === '/crl')
        return void response.setHeader('Content-Type', 'application/pkix-crl').end(await this.crl())
      if (request.url === '/ocsp')
        return void response.setHeader('Content-Type', 'application/ocsp-response').end(await this.#ocsp(body))
      this.lastHeaders = request.headers
      if (request.headers['content-type'] !== 'application/timestamp-query') return void response.writeHead(415).end()
      const stamping = this.#stamps.then(() => this.#stamp(body))
      this.#stamps = stamping.catch(() => undefined)
      response.setHeader('Content-Type', 'application/timestamp-reply').end(await stamping)
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  }

  async #stamp(query: Uint8Array): Promise<Uint8Array> {
    this.requestCounts.stamp++
    await writeFile(join(this.directory, 'query'), query)
    await this.#openssl('ts', '-reply', '-config', 'ts.cnf', '-queryfile', 'query', '-out', 'reply')
    return readFile(join(this.directory, 'reply'))
  }

  async #ocsp(query: Uint8Array): Promise<Uint8Array> {
    const [input, output] = [`ocsp-${this.requestCounts.ocsp}.req`, `ocsp-${this.requestCounts.ocsp++}.resp`]
    await writeFile(join(this.directory, input), query)
    const signing = ['-index', 'index.txt', '-CA', 'ca.pem', '-rsigner', 'ca.pem', '-rkey', 'ca.key', '-ndays', '1']
    await this.#openssl('ocsp', ...signing, '-reqin', input, '-respout', output)
    return readFile(join(this.directory, output))
  }

  async #openssl(...args: readonly string[]): Promise<void> {
    await run('openssl', args, { cwd: this.directory })
  }
}

const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const SERIAL = '1000'

/** `YYMMDDHHMMSSZ`, as in openssl's index. */
const utcTime = (date: Date): string => `${date.toISOString().slice(2, 19).replace(/[-T:]/g, '')}Z`

/** Creates CA, signer, index and configuration. Returns the CA's PEM. */
async function makeAuthority(
  directory: string,
  kind: 'ec' | 'rsa',
  names: readonly ('ocsp' | 'crl')[],
  origin: string,
): Promise<string> {
  const openssl = (...args: readonly string[]) => run('openssl', args, { cwd: directory })
  const write = (name: string, lines: readonly string[]) => writeFile(join(directory, name), `${lines.join('\n')}\n`)
  const key =
    kind === 'rsa' ? ['RSA', '-pkeyopt', 'rsa_keygen_bits:2048'] : ['EC', '-pkeyopt', 'ec_paramgen_curve:P-256']
  const keys = ['ca.key', 'tsa.key'].map((name) => openssl('genpkey', '-algorithm', ...key, '-out', name))
  await Promise.all(keys)
  const usage = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign']
  const ca = [
    '-key',
    'ca.key',
    '-days',
    '3650',
    '-subj',
    `/CN=Test root ${new URL(origin).port}`,
    ...usage,
    '-out',
    'ca.pem',
  ]
  await openssl('req', '-x509', '-new', ...ca)
  await openssl('req', '-new', '-key', 'tsa.key', '-subj', '/CN=signer', '-out', 'tsa.csr')
  await write('tsa.ext', [
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    'extendedKeyUsage=critical,timeStamping',
    'subjectKeyIdentifier=hash',
    ...(names.includes('ocsp') ? [`authorityInfoAccess=OCSP;URI:${origin}/ocsp`] : []),
    ...(names.includes('crl') ? [`crlDistributionPoints=URI:${origin}/crl`] : []),
  ])
  const issue = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-set_serial', `0x${SERIAL}`, '-days', '1825']
  await openssl('x509', '-req', '-in', 'tsa.csr', ...issue, '-extfile', 'tsa.ext', '-out', 'tsa.pem')
  await write('index.txt', [`V\t350101000000Z\t\t${SERIAL}\tunknown\t/CN=signer`])
  await write('serial', ['01'])
  await write('ts.cnf', [
    '[tsa]',
    'default_tsa = t',
    '[t]',
    'serial = serial',
    'signer_cert = tsa.pem',
    'signer_key = tsa.key',
    'signer_digest = sha256',
    'default_policy = 1.2.3.4.1',
    'other_policies = 1.2.3.4.5',
    'digests = sha256, sha384, sha512',
    'accuracy = secs:1',
    'clock_precision_digits = 3',
    'ess_cert_id_alg = sha256',
  ])
  await write('ca.cnf', [
    '[ca]',
    'default_ca = c',
    '[c]',
    'database = index.txt',
    'certificate = ca.pem',
    'private_key = ca.key',
    'default_md = sha256',
    'default_crl_days = 1',
  ])
  return readFile(join(directory, 'ca.pem'), 'latin1')
}

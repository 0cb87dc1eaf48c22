import { createHash, createPublicKey, generateKeyPairSync, sign, verify, type KeyObject } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { listenOnLoopback } from './ports.ts'

/**
 * A witness over HTTP, written after https://c2sp.org/tlog-witness and RFC 9162 without code of ours, so that not both
 * sides make the same mistake.
 */

const hash = (...parts: readonly (Uint8Array | number)[]): Buffer => {
  const sha = createHash('sha256')
  for (const part of parts) sha.update(typeof part === 'number' ? Uint8Array.of(part) : part)
  return sha.digest()
}

const rawKey = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' }).subarray(-32)
const keyIdOf = (name: string, type: number, key: Uint8Array): Buffer =>
  hash(Buffer.from(`${name}\n`), type, key).subarray(0, 4)

/** RFC 9162 § 2.1.4.2. */
function isConsistent([first, second]: [number, number], [from, to, ...path]: [Buffer, Buffer, ...Buffer[]]): boolean {
  if (first === second) return path.length === 0 && from.equals(to)
  const [start, ...rest] = Number.isInteger(Math.log2(first)) ? [from, ...path] : path
  if (start === undefined) return false
  let [fn, sn, fr, sr] = [first - 1, second - 1, start, start]
  for (; fn % 2 === 1; fn = (fn - 1) / 2) sn = Math.floor(sn / 2)
  for (const node of rest) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      fr = hash(1, node, fr)
      sr = hash(1, node, sr)
      for (; fn % 2 === 0 && fn !== 0; fn /= 2) sn = Math.floor(sn / 2)
    } else sr = hash(1, sr, node)
    fn = Math.floor(fn / 2)
    sn = Math.floor(sn / 2)
  }
  return fr.equals(from) && sr.equals(to) && sn === 0
}

/** Verifies the signature of a C2SP verifier key of the type 01 on a note. */
function isSignedBy(note: string, vkey: string): boolean {
  const [name, id, ...data] = vkey.split('+')
  const x = Buffer.from(data.join('+'), 'base64').subarray(1).toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const end = note.lastIndexOf('\n\n')
  return note
    .slice(end)
    .split('\n')
    .some((line) => {
      const [, signer, signature = ''] = line.split(' ')
      const bytes = Buffer.from(signature, 'base64')
      const isOwn = signer === name && bytes.toString('hex', 0, 4) === id
      return isOwn && verify(null, Buffer.from(note.slice(0, end + 1)), key, bytes.subarray(4))
    })
}

type Reply = readonly [status: number, body?: string, type?: string]

/** The tree of a checkpoint. */
export function treeOf(note: string) {
  const [, size, root = ''] = note.split('\n')
  return { size: Number(size), root: Buffer.from(root, 'base64'), note }
}

export class TestWitness {
  readonly name: string
  readonly vkey: string
  /** What it has cosigned last; set it to make a witness that saw something else, or nothing. */
  seen: { readonly size: number; readonly root: Buffer; readonly note: string } | undefined
  /** Sees each request for a cosignature. */
  readonly bodies: string[] = []
  /** Is called after each of them, before the response. */
  onSubmission = (): void => undefined
  /**
   * How it responds. `dead`: never. `slow`: when the mode changes. `hidden`: it does not show its checkpoint. `longer
   * text`: its lines make the note another one, which it has signed.
   */
  mode: 'honest' | 'dead' | 'slow' | 'hidden' | 'version 1.0.0' | 'wrong key' | 'longer text' = 'honest'
  /** Of the log: set it to the submission key of the log. */
  logKey = ''
  time = 1_700_000_000
  /** Cosigns in its place. */
  cosignsAs: { cosign(note: string, seconds: number): string } | undefined
  url = ''
  /** Ends the requests to which it does not respond. */
  hangUp = (): void => undefined
  readonly #key: KeyObject
  readonly #publicKey: Buffer

  constructor(name: string, key = generateKeyPairSync('ed25519').privateKey) {
    this.name = name
    this.#key = key
    this.#publicKey = rawKey(createPublicKey(key))
    const typed = Buffer.concat([Uint8Array.of(4), this.#publicKey])
    this.vkey = `${name}+${keyIdOf(name, 4, this.#publicKey).toString('hex')}+${typed.toString('base64')}`
  }

  static async start(t: TestContext, name: string): Promise<TestWitness> {
    const witness = new TestWitness(name)
    const server = await witness.listen()
    witness.hangUp = () => server.closeAllConnections()
    t.after(() => {
      witness.hangUp()
      server.close()
    })
    return witness
  }

  /** @param port - of the loopback. Default: a free one */
  async listen(port?: number): Promise<Server> {
    const server = createServer((request, response) => {
      void text(request).then(async (body) => {
        while (this.mode === 'slow') await delay(20)
        const reply = request.method === 'POST' ? this.#add(body) : this.#show(request.url ?? '')
        if (request.method === 'POST') this.onSubmission()
        const [status, content, type = 'text/plain'] = reply ?? [0]
        return status > 0 && response.writeHead(status, { 'Content-Type': type }).end(content)
      })
    })
    this.url = `http://127.0.0.1:${await listenOnLoopback(server, port)}/prefix`
    return server
  }

  #show(path: string): Reply {
    if (this.mode === 'hidden') return [404]
    const log = hash(Buffer.from(this.logKey.split('+')[0] ?? '')).toString('hex')
    return path === `/prefix/${log}/checkpoint` && this.seen !== undefined ? [200, this.seen.note] : [404]
  }

  #add(body: string): Reply | undefined {
    this.bodies.push(body)
    if (this.mode === 'dead') return undefined
    const split = body.indexOf('\n\n')
    const [first = '', ...proof] = body.slice(0, split).split('\n')
    const note = body.slice(split + 2)
    const [origin] = note.split('\n')
    const { size, root } = treeOf(note)
    const [old, path] = [Number(first.replace('old ', '')), proof.map((line) => Buffer.from(line, 'base64'))]
    if (!/^old (0|[1-9]\d*)$/.test(first) || path.some(({ length }) => length !== 32) || old > size) return [400]
    if (!this.logKey.startsWith(`${origin}+`)) return [404]
    if (!isSignedBy(note, this.logKey)) return [403]
    const last = this.seen
    if (old !== (last?.size ?? 0)) return [409, `${last?.size ?? 0}\n`, 'text/x.tlog.size']
    if (last === undefined ? path.length > 0 : !isConsistent([old, size], [last.root, root, ...path]))
      return [this.mode === 'version 1.0.0' && old === size ? 409 : 422]
    this.seen = { size, root, note }
    if (this.cosignsAs !== undefined) return [200, `${this.cosignsAs.cosign(note, ++this.time)}\n`]
    const signed = note.slice(0, note.lastIndexOf('\n\n') + 1)
    return [200, this.mode === 'longer text' ? `more\n\n${this.#cosign(`${signed}\nmore\n`)}` : this.#cosign(signed)]
  }

  /** https://c2sp.org/tlog-cosignature, cosignature/v1, after a line of an unknown key. */
  #cosign(signed: string): string {
    const seconds = Buffer.alloc(8)
    seconds.writeBigUInt64BE(BigInt(++this.time))
    const message = Buffer.from(`cosignature/v1\ntime ${this.time}\n${signed}`)
    const key = this.mode === 'wrong key' ? generateKeyPairSync('ed25519').privateKey : this.#key
    const keyId = keyIdOf(this.name, 4, this.#publicKey)
    const line = Buffer.concat([keyId, seconds, sign(null, message, key)]).toString('base64')
    return `— unknown.example ${Buffer.alloc(3_000, 1).toString('base64')}\n— ${this.name} ${line}\n`
  }
}

/** C2SP tlog-policy text of witnesses with this quorum of them. */
export function policyOf(witnesses: readonly Pick<TestWitness, 'vkey' | 'url'>[], quorum: number): string {
  const lines = witnesses.map(({ vkey, url }, i) => `witness w${i + 1} ${vkey} ${url}\n`)
  const names = witnesses.map((_, i) => `w${i + 1}`)
  return `${lines.join('')}group enough ${quorum} ${names.join(' ')}\nquorum enough\n`
}

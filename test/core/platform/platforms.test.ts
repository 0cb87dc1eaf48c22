import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { ed25519, ED25519_TORSION_SUBGROUP } from '@noble/curves/ed25519.js'
import { bytesToNumberLE } from '@noble/curves/utils.js'
import { sha512 } from '@noble/hashes/sha2.js'
import fc from 'fast-check'
import * as node from '../../../core/platform/node.ts'
import * as web from '../../../core/platform/web.ts'
import * as nodeKeys from '../../../core/verify/certificate-crypto/node.ts'
import type { SignatureScheme } from '../../../core/verify/certificate-crypto/types.ts'
import * as webKeys from '../../../core/verify/certificate-crypto/web.ts'

/** What runs in browsers must return the same as what runs in Node. */

const someBytes = fc.uint8Array({ maxLength: 300 })
const text = fc.string({ unit: 'grapheme', maxLength: 300 })

describe('the platform outside Node', () => {
  it('has the same exports, but for secrets, which only a registry needs', () => {
    const secrets = ['MIN_SECRET_BYTES', 'deriveSecret', 'randomBytes']
    assert.deepEqual([...Object.keys(web), ...secrets].toSorted(), Object.keys(node).toSorted())
    assert.deepEqual(Object.keys(webKeys).toSorted(), Object.keys(nodeKeys).toSorted())
  })

  it('encodes and compares bytes alike', () => {
    fc.assert(
      fc.property(someBytes, someBytes, text, (a, b, string) => {
        assert.deepEqual(web.encodeUtf8(string), node.encodeUtf8(string))
        assert.equal(web.toHex(a), node.toHex(a))
        assert.equal(web.toBase64(a), node.toBase64(a))
        assert.deepEqual(web.fromHex(node.toHex(a)), a)
        assert.deepEqual(web.fromBase64(node.toBase64(a)), a)
        assert.equal(web.equalBytes(a, b), node.equalBytes(a, b))
        assert.equal(web.equalBytes(a, a.slice()), true)
        assert.equal(web.allocate(a.length).length, a.length)
      }),
    )
  })

  it('rejects the same hex and base64', () => {
    const hex = fc.string({ unit: fc.constantFrom('0', '9', 'a', 'f', 'A', 'F', 'g', ' '), maxLength: 6 })
    const base64 = fc.string({ unit: fc.constantFrom('A', 'a', '0', '+', '/', '-', '_', '=', '\n', ' '), maxLength: 8 })
    fc.assert(
      fc.property(hex, base64, text, (a, b, any) => {
        assert.deepEqual(web.fromHex(a), node.fromHex(a))
        assert.deepEqual(web.fromBase64(b), node.fromBase64(b))
        assert.deepEqual(web.fromBase64(any), node.fromBase64(any))
      }),
      { numRuns: 3_000 },
    )
  })

  it('hashes alike', () => {
    fc.assert(
      fc.property(someBytes, someBytes, text, fc.nat(200), (a, b, string, length) => {
        assert.deepEqual(web.sha256(a), node.sha256(a))
        assert.equal(web.sha256Hex(a), node.sha256Hex(a))
        assert.deepEqual(web.sha256OfText(string, a, b), node.sha256OfText(string, a, b))
        assert.equal(web.sha256HexOfText(string, a), node.sha256HexOfText(string, a))
        const salts = node.shake256(a, 32 * 4)
        assert.deepEqual(web.shake256(a, length), node.shake256(a, length))
        for (const tag of [new Uint8Array(16).fill(1), b])
          assert.deepEqual(
            web.saltedHashes(tag, [string, '', string.repeat(40)], salts, 1),
            node.saltedHashes(tag, [string, '', string.repeat(40)], salts, 1),
          )
        for (const name of ['sha1', 'sha256', 'sha384', 'sha512'] as const)
          assert.deepEqual(webKeys.digest(name, a), nodeKeys.digest(name, a))
      }),
    )
  })
})

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const FIELD = 2n ** 255n - 19n
const littleEndian = (value: bigint): Uint8Array =>
  Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 255n))

describe('Ed25519 outside Node', () => {
  const seed = new Uint8Array(32).fill(7)
  const signer = node.ed25519Signer(seed)

  it('signs alike', () => {
    const other = web.ed25519Signer(seed)
    assert.deepEqual(other.publicKey, signer.publicKey)
    for (const length of [0, 1, 100, 5_000]) {
      const bytes = new Uint8Array(length).fill(3)
      assert.deepEqual(other.sign(bytes), signer.sign(bytes))
    }
  })

  it('accepts correct signatures by many keys', () => {
    for (let i = 0; i < 20; i++) {
      const { publicKey, sign: signBytes } = node.ed25519Signer(new Uint8Array(randomBytes(32)))
      const bytes = new Uint8Array(randomBytes(i * 17))
      assert.equal(web.verifyEd25519(publicKey, bytes, signBytes(bytes)), true)
    }
  })

  it('rejects a change of any byte', () => {
    const bytes = new Uint8Array(20).fill(1)
    const signature = signer.sign(bytes)
    const changed = (original: Uint8Array, i: number): Uint8Array =>
      original.map((byte, at) => (at === i ? byte ^ (1 << (i % 8)) : byte))
    for (let i = 0; i < 64; i++)
      assert.equal(web.verifyEd25519(signer.publicKey, bytes, changed(signature, i)), false, `signature ${i}`)
    for (let i = 0; i < 32; i++) {
      const key = changed(signer.publicKey, i)
      assert.equal(web.verifyEd25519(key, bytes, signature), node.verifyEd25519(key, bytes, signature), `key ${i}`)
    }
    for (let i = 0; i < 20; i++)
      assert.equal(web.verifyEd25519(signer.publicKey, changed(bytes, i), signature), false, `text ${i}`)
  })

  it('rejects a scalar that is not reduced: each signature has one form', () => {
    const bytes = new Uint8Array(3)
    const signature = signer.sign(bytes)
    const scalar = signature.subarray(32).reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n)
    const second = new Uint8Array([...signature.subarray(0, 32), ...littleEndian(scalar + ORDER)])
    assert.equal(web.verifyEd25519(signer.publicKey, bytes, second), false)
    assert.equal(node.verifyEd25519(signer.publicKey, bytes, second), false)
  })

  it('verifies alike with a key of mixed order, of which the equation times the cofactor holds', () => {
    const { Point } = ed25519
    const { BASE, Fn } = Point
    const number = (bytes: Uint8Array): bigint => Fn.create(bytesToNumberLE(bytes))
    const torsion = Point.fromHex(ED25519_TORSION_SUBGROUP[1] ?? '')
    const [secret, nonce] = [number(randomBytes(32)), number(randomBytes(32))]
    const key = BASE.multiply(secret).add(torsion).toBytes()
    const r = BASE.multiply(nonce).toBytes()
    const verdicts = Array.from({ length: 64 }, (_, i) => {
      const bytes = Uint8Array.of(i)
      const k = number(sha512(new Uint8Array([...r, ...key, ...bytes])))
      const signature = new Uint8Array([...r, ...littleEndian(Fn.create(nonce + k * secret))])
      assert.equal(ed25519.verify(signature, bytes, key, { zip215: false }), true)
      const verdict = web.verifyEd25519(key, bytes, signature)
      assert.equal(verdict, node.verifyEd25519(key, bytes, signature))
      return verdict
    })
    assert.ok(verdicts.includes(false))
  })

  it('rejects keys that are not canonical encodings of points (RFC 8032 § 5.1.3)', () => {
    const bytes = new Uint8Array(3)
    // With the neutral element as key, R = sB is a valid signature of every text.
    const neutral = littleEndian(1n)
    const forged = new Uint8Array([...node.ed25519Signer(seed).publicKey, ...new Uint8Array(32)])
    assert.equal(web.verifyEd25519(neutral, bytes, forged), false)
    assert.equal(web.verifyEd25519(neutral, bytes, new Uint8Array([...neutral, ...new Uint8Array(32)])), true)
    for (const key of [littleEndian(FIELD + 1n), littleEndian(1n + 2n ** 255n), littleEndian(2n)])
      assert.equal(web.verifyEd25519(key, bytes, new Uint8Array([...neutral, ...new Uint8Array(32)])), false)
  })
})

describe('signatures of certificates outside Node', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const odd = generateKeyPairSync('rsa', { modulusLength: 2049 })
  const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
  const limited = generateKeyPairSync('rsa-pss', {
    modulusLength: 2048,
    hashAlgorithm: 'sha384',
    mgf1HashAlgorithm: 'sha384',
    // The types of Node 20 say that it is a string.
    saltLength: 48 as never,
  })
  const curves = ['prime256v1', 'secp384r1', 'secp521r1', 'brainpoolP256r1', 'brainpoolP384r1', 'brainpoolP512r1']
  const pairs: readonly (readonly [string, { readonly publicKey: KeyObject; readonly privateKey: KeyObject }])[] = [
    ['RSA', rsa],
    ['RSA of 2049 bits', odd],
    ['RSA-PSS', pss],
    ['RSA-PSS for SHA-384', limited],
    ...curves.map((namedCurve) => [namedCurve, generateKeyPairSync('ec', { namedCurve })] as const),
  ]
  const HASHES = ['sha256', 'sha384', 'sha512'] as const
  const SALTS = [undefined, 0, 20, 32, 48]

  const schemesOf = ({ asymmetricKeyType: type }: KeyObject): readonly SignatureScheme[] =>
    HASHES.flatMap((hash): readonly SignatureScheme[] => {
      if (type === 'ec') return [{ keyTypes: ['ec'], hash }]
      const salts = SALTS.filter((saltLength) => saltLength !== undefined || type === 'rsa')
      return salts.map((saltLength) => ({
        keyTypes: ['rsa', 'rsa-pss'],
        hash,
        ...(saltLength !== undefined && { saltLength }),
      }))
    })

  /** 6: RSA_PKCS1_PSS_PADDING. `undefined` if the key does not allow the scheme. */
  function signed({ hash, saltLength }: SignatureScheme, key: KeyObject, message: Uint8Array): Uint8Array | undefined {
    try {
      return sign(hash, message, { key, ...(saltLength !== undefined && { padding: 6, saltLength }) })
    } catch {
      return undefined
    }
  }

  const spkiOf = (key: KeyObject): Uint8Array => new Uint8Array(key.export({ type: 'spki', format: 'der' }))

  for (const [name, { publicKey, privateKey }] of pairs)
    it(`verify alike: ${name}`, () => {
      const [ours, reference] = [webKeys.parsePublicKey(spkiOf(publicKey)), nodeKeys.parsePublicKey(spkiOf(publicKey))]
      assert.deepEqual({ ...ours, verify: 0 }, { ...reference, verify: 0 })
      const message = new Uint8Array(randomBytes(100))
      let accepted = 0
      for (const scheme of schemesOf(publicKey)) {
        const signature = signed(scheme, privateKey, message)
        if (signature === undefined) continue
        assert.equal(ours.verify(scheme, message, signature), true, JSON.stringify(scheme))
        accepted += 1
        const last = signature.length - 1
        const changed = [0, 1, 9, Math.floor(last / 2), last].map((i) =>
          signature.map((byte, at) => (at === i ? byte ^ 1 : byte)),
        )
        for (const each of [
          ...changed,
          signature.subarray(0, -1),
          new Uint8Array([...signature, 0]),
          new Uint8Array(),
        ]) {
          assert.equal(ours.verify(scheme, message, each), false, JSON.stringify(scheme))
          assert.equal(reference.verify(scheme, message, each), false, JSON.stringify(scheme))
        }
        assert.equal(ours.verify(scheme, message.slice(1), signature), false)
        for (const other of schemesOf(publicKey))
          assert.equal(
            ours.verify(other, message, signature),
            reference.verify(other, message, signature),
            JSON.stringify([scheme, other]),
          )
      }
      assert.ok(accepted > 0)
    })

  it('have keys of other types and curves, which verify nothing', () => {
    const names = ['secp256k1', 'brainpoolP224r1']
    const others = names.map((namedCurve) => generateKeyPairSync('ec', { namedCurve }).publicKey)
    for (const key of [...others, generateKeyPairSync('ed25519').publicKey]) {
      const parsed = webKeys.parsePublicKey(spkiOf(key))
      assert.equal(parsed.verify({ keyTypes: ['ec'], hash: 'sha256' }, new Uint8Array(), new Uint8Array(64)), false)
    }
  })

  it('have keys that are rejected alike: points outside the curve, and other bytes', () => {
    const spki = spkiOf(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey)
    const outside = spki.map((byte, i) => (i === spki.length - 1 ? byte ^ 1 : byte))
    for (const bytes of [outside, spki.slice(0, -1), new Uint8Array(), Uint8Array.of(0x30, 0), new Uint8Array(91)]) {
      assert.throws(() => webKeys.parsePublicKey(bytes))
      assert.throws(() => nodeKeys.parsePublicKey(bytes))
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { canonicalJson } from '../../../core/commitment/canonical-json.ts'
import { concatBytes, encodeUtf8, sha256, sha256Of, toHex } from '../../../core/bytes.ts'
import { openingBytes, tag } from '../../../core/commitment/event-format.ts'
import {
  assertKeyChain,
  assertLogName,
  entryOf,
  keyHandover,
  keyOpening,
  kindOf,
  originOf,
  parseKeyOpening,
  tokenOpening,
  type LoggedKey,
} from '../../../core/commitment/log-entry.ts'
import { createNoteSigner, publicKeyOfSeed } from '../../../core/log/note.ts'

const verificationFailed = { name: 'RegistryError', code: 'VERIFICATION_FAILED' }
const seed = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const origin = originOf('log', publicKeyOfSeed(seed(1)))
const signer = (fill: number, name = origin) => createNoteSigner(name, seed(fill))
const first = keyOpening({ log: origin, prev: null, sig: null, vkey: signer(1).verifierKey })

function nextOpening(before: Uint8Array, by: number, to: number): Uint8Array {
  const handover = { log: origin, prev: toHex(entryOf(before)), vkey: signer(to).verifierKey }
  return keyOpening({ ...handover, sig: toHex(signer(by).sign(keyHandover(handover))) })
}

/** Verifies a chain of the log of its first key. */
function verifyKeyChain(openings: readonly Uint8Array[]): readonly LoggedKey[] {
  const keys = openings.map(parseKeyOpening)
  assertKeyChain(keys, keys[0]?.log ?? '')
  return keys
}

describe('openings of key and token entries', () => {
  it('have the bytes that the format specifies', () => {
    const vkey = signer(1).verifierKey
    assert.deepEqual(
      first,
      concatBytes(
        encodeUtf8('er1.key'),
        new Uint8Array(9),
        encodeUtf8(`{"log":"${origin}","prev":null,"sig":null,"v":1,"vkey":"${vkey}"}`),
      ),
    )
    assert.equal(
      origin,
      `log/${toHex(sha256Of(encodeUtf8('er1.origin'), new Uint8Array(6), publicKeyOfSeed(seed(1)))).slice(0, 32)}`,
    )
    const response = encodeUtf8('a response')
    assert.deepEqual(tokenOpening(response), concatBytes(tag('er1.token'), sha256(response)))
    assert.deepEqual(entryOf(first), sha256(first))
  })

  it('have a kind', () => {
    assert.equal(kindOf(first), 'key')
    assert.equal(kindOf(tokenOpening(new Uint8Array())), 'token')
    assert.equal(kindOf(openingBytes({ slot: seed(1), time: 1, header: seed(2), files: seed(3) })), 'event')
    for (const bytes of [new Uint8Array(), new Uint8Array(120), tag('er1.event'), tag('er1.token'), tag('er1.keys')])
      assert.equal(kindOf(bytes), undefined)
  })

  it('form a chain of keys, each signed by the previous one', () => {
    const second = nextOpening(first, 1, 2)
    const third = nextOpening(second, 2, 3)
    assert.deepEqual(
      verifyKeyChain([first, second, third]).map(({ vkey }) => vkey),
      [1, 2, 3].map((fill) => signer(fill).verifierKey),
    )
    assert.throws(() => verifyKeyChain([first, third]), verificationFailed)
    assert.throws(() => verifyKeyChain([second]), verificationFailed)
    assert.throws(() => verifyKeyChain([first, first]), verificationFailed)
    assert.throws(() => verifyKeyChain([first, nextOpening(first, 2, 2)]), verificationFailed, 'signed by itself')
    assert.throws(
      () => verifyKeyChain([first, second, nextOpening(second, 1, 3)]),
      verificationFailed,
      'signed by the first one again',
    )
  })

  it('belong to one log, whose first key determines the origin', () => {
    const foreign = originOf('log', publicKeyOfSeed(seed(4)))
    assert.throws(
      () => verifyKeyChain([keyOpening({ log: foreign, prev: null, sig: null, vkey: signer(1, foreign).verifierKey })]),
      verificationFailed,
    )
    assert.throws(
      () => verifyKeyChain([keyOpening({ log: origin, prev: null, sig: null, vkey: signer(1, 'log').verifierKey })]),
      verificationFailed,
    )
  })

  it('are rejected in any other form', () => {
    const members = { log: origin, prev: null, sig: null, v: 1, vkey: signer(1).verifierKey }
    const opening = (value: unknown): Uint8Array =>
      concatBytes(tag('er1.key'), encodeUtf8(typeof value === 'string' ? value : canonicalJson(value)))
    const { log, prev, sig, vkey } = members
    assert.deepEqual(parseKeyOpening(first), { log, prev, sig, vkey, entry: sha256(first) })
    for (const bad of [
      'null',
      '[]',
      '{',
      '1',
      { ...members, v: 2 },
      { ...members, more: 1 },
      { ...members, log: 1 },
      { ...members, prev: toHex(seed(1)) },
      { ...members, prev: toHex(seed(1)), sig: 'zz' },
      { ...members, sig: toHex(new Uint8Array(64)) },
      { ...members, prev: toHex(seed(1)), sig: '' },
      JSON.stringify(members).replace('{', '{"v":1,'),
    ])
      assert.throws(() => parseKeyOpening(opening(bad)), verificationFailed, JSON.stringify(bad))
    assert.throws(() => parseKeyOpening(concatBytes(opening(members), new Uint8Array(5000))), verificationFailed)
    assert.throws(() => parseKeyOpening(opening({ ...members, log: 'x'.repeat(16_384) })), verificationFailed)
    assert.throws(() => parseKeyOpening(concatBytes(tag('er1.key'), Uint8Array.of(0xff))), verificationFailed)
    assert.throws(() => parseKeyOpening(tokenOpening(new Uint8Array())), verificationFailed)
  })

  it('of an algorithm that is not known are parsed, but not verified', () => {
    // As large as a key of ML-DSA-44 with its signature.
    const publicKey = concatBytes(Uint8Array.of(6), new Uint8Array(1312).fill(7))
    const hash = toHex(sha256Of(encodeUtf8(`${origin}\n`), publicKey)).slice(0, 8)
    const vkey = `${origin}+${hash}+${Buffer.from(publicKey).toString('base64')}`
    const handover = { log: origin, prev: toHex(entryOf(first)), vkey }
    const second = keyOpening({ ...handover, sig: toHex(signer(1).sign(keyHandover(handover))) })
    const later = { log: origin, prev: toHex(entryOf(second)), vkey: signer(2).verifierKey }
    const third = keyOpening({ ...later, sig: toHex(new Uint8Array(2420).fill(8)) })
    assert.ok(third.length > 4_096)
    assert.equal(parseKeyOpening(second).vkey, vkey)
    assert.equal(parseKeyOpening(third).sig?.length, 4840)
    const unknown = { ...verificationFailed, rule: 'keys.malformed' }
    assert.throws(() => verifyKeyChain([first, second]), unknown)
    assert.throws(() => verifyKeyChain([first, second, third]), unknown)
  })

  it('accept only names that fit in an origin of 200 characters', () => {
    for (const name of ['evidence-registry', 'a/b.c_D-9', 'x'.repeat(167)]) assertLogName(name)
    for (const name of ['', 'x'.repeat(168), 'a b', 'a+b', 'é', 'a\n'])
      assert.throws(() => assertLogName(name), { code: 'CONFIG_ERROR' }, name)
    assert.equal(originOf('x'.repeat(167), seed(1)).length, 200)
  })
})

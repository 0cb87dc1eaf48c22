import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { encodeUtf8, fromHex, toHex } from '../../../core/bytes.ts'
import { parseCheckpoint, verifyCheckpoint, checkpointText } from '../../../core/log/checkpoint.ts'
import { createNoteSigner, openNote, parseNote, publicKeyOfSeed } from '../../../core/log/note.ts'
import { formatVerifierKey, parseVerifierKey, verifySignature } from '../../../core/log/verifier-key.ts'

const verificationFailed = { name: 'RegistryError', code: 'VERIFICATION_FAILED' }
const seed = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)

describe('signed notes', () => {
  // From the documentation of golang.org/x/mod/sumdb/note, where the format comes from.
  const goKey = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
  const goText = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
  const goSignature = 'x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM='
  const goNote = `${goText}\n— PeterNeumann ${goSignature}\n`

  it("are opened as in Go's documentation, and the key of sum.golang.org is parsed", () => {
    assert.equal(openNote(goNote, goKey), goText)
    const key = parseVerifierKey('sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8')
    assert.equal(key.name, 'sum.golang.org')
    assert.equal(toHex(key.keyId), '033de0ae')
  })

  it('have a key whose length is checked', () => {
    const withLength = (length: number): string =>
      `n+00000000+${Buffer.from([1, ...new Uint8Array(length)]).toString('base64')}`
    for (const length of [0, 31, 33])
      assert.throws(() => parseVerifierKey(withLength(length)), {
        ...verificationFailed,
        message: new RegExp(`must have 32 bytes, got ${length}$`),
      })
  })

  it('are signed as in RFC 8032 § 7.1, test 1', () => {
    const secret = fromHex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60') as Uint8Array
    const signer = createNoteSigner('n', secret)
    assert.equal(toHex(publicKeyOfSeed(secret)), 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')
    assert.equal(
      toHex(signer.sign(new Uint8Array())),
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155' +
        '5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    )
    assert.ok(!verifySignature(signer.publicKey, encodeUtf8('x'), signer.sign(new Uint8Array())))
    assert.ok(!verifySignature(signer.publicKey, new Uint8Array(), new Uint8Array(63)))
    assert.ok(!verifySignature(new Uint8Array(31), new Uint8Array(), new Uint8Array(64)))
  })

  it('are opened after signing, and the same text results in the same note', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'é', '\n', '—', ' ', '+') }), (line) => {
        const signer = createNoteSigner('example.org/log', seed(7))
        const note = signer.signNote(`${line}\n`)
        assert.equal(openNote(note, signer.verifierKey), `${line}\n`)
        assert.equal(signer.signNote(`${line}\n`), note)
      }),
    )
    assert.throws(() => createNoteSigner('n', seed(1)).signNote('no newline'), RangeError)
  })

  it('may have signatures by other keys, also with the same name, but not a wrong one by the own key', () => {
    const text = 'text\n'
    const own = createNoteSigner('n', seed(1))
    const line = (note: string): string => note.slice(text.length + 1)
    const other = createNoteSigner('m', seed(2)).signNote(text)
    const namesake = createNoteSigner('n', seed(3)).signNote(text)
    assert.equal(openNote(other + line(namesake) + line(own.signNote(text)), own.verifierKey), text)
    assert.throws(() => openNote(other + line(namesake), own.verifierKey), verificationFailed)
    assert.throws(
      () => openNote(own.signNote(text) + line(own.signNote('other\n').replace('other\n', 'text\n')), own.verifierKey),
      verificationFailed,
    )
  })

  it('are rejected after any change of a character', () => {
    fc.assert(
      fc.property(fc.nat(goNote.length - 1), fc.constantFrom('x', '\n', ' ', 'é', '\0', '+', '='), (at, char) => {
        const changed = goNote.slice(0, at) + char + goNote.slice(at + 1)
        if (changed !== goNote) assert.throws(() => openNote(changed, goKey), verificationFailed)
      }),
      { numRuns: 1000 },
    )
  })

  it('are rejected in any other form', () => {
    const line = goNote.slice(goText.length + 1)
    for (const bad of [
      '',
      '\n',
      goText,
      `${goText}\n`,
      goNote.slice(0, -1),
      `${goNote}\n`,
      goNote + 'trailing',
      goNote.replace('— ', '- '),
      goNote.replace('— PeterNeumann ', '—  '),
      goNote.replace('PeterNeumann ', 'Peter+Neumann '),
      goNote.replace('=\n', '\n'),
      goNote.replace('problem is', 'problem\ris'),
      goNote.replace('problem is', '\ud800'),
      goNote + line.repeat(100),
      'x'.repeat(70_000) + goNote,
      `${goText}\n— PeterNeumann AAAA\n`,
    ])
      assert.throws(() => openNote(bad, goKey), verificationFailed, JSON.stringify(bad.slice(0, 200)))
    assert.equal(parseNote(goNote).signatures.length, 1)
  })

  it('need a valid verifier key', () => {
    for (const bad of [
      '',
      'n',
      goKey.replace('c74f', 'c74e'),
      goKey.replace('+AR', '+BR'),
      goKey.slice(0, -4),
      `${goKey}\n`,
      `a b${goKey}`,
      goKey.replace('c74f20a3', 'C74F20A3'),
      '+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
    ])
      assert.throws(() => parseVerifierKey(bad), verificationFailed, bad)
    assert.throws(() => formatVerifierKey('a b', seed(1)), RangeError)
    assert.throws(() => formatVerifierKey('a', new Uint8Array(31)), RangeError)
  })
})

describe('checkpoints', () => {
  const origin = 'example.org/log'
  const signer = createNoteSigner(origin, seed(9))
  const sign = (text: string): string => signer.signNote(text)
  const root = seed(5)
  const good = sign(checkpointText({ origin, size: 1234, root }))

  it('have three lines and one signature', () => {
    assert.deepEqual(good.split('\n').slice(0, 4), [origin, '1234', 'BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=', ''])
    assert.deepEqual(verifyCheckpoint(good, signer.verifierKey), { origin, size: 1234, root })
    assert.deepEqual(parseCheckpoint(good), { origin, size: 1234, root })
  })

  it('are rejected in any other form, also if they are signed', () => {
    const rootText = 'BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU='
    for (const text of [
      `${origin}\n1234\n`,
      `${origin}\n1234\n${rootText}\nextension\n`,
      `${origin}\n01234\n${rootText}\n`,
      `${origin}\n-1\n${rootText}\n`,
      `${origin}\n1e3\n${rootText}\n`,
      `${origin}\n9007199254740992\n${rootText}\n`,
      `${origin}\n\n${rootText}\n`,
      `${origin}\n1234\n${rootText.slice(0, -1)}\n`,
      `${origin}\n1234\nBQUF\n`,
      `\n1234\n${rootText}\n`,
      `other.org/log\n1234\n${rootText}\n`,
    ])
      assert.throws(() => verifyCheckpoint(sign(text), signer.verifierKey), verificationFailed, text)
    assert.throws(() => parseCheckpoint(good + good.split('\n\n')[1]), verificationFailed)
    assert.throws(() => verifyCheckpoint(good, createNoteSigner(origin, seed(8)).verifierKey), verificationFailed)
    assert.throws(() => verifyCheckpoint(good, createNoteSigner('other', seed(9)).verifierKey), verificationFailed)
  })
})

import { concatBytes, encodeUtf8, sha256Of, toBase64, toHex } from '../../core/bytes.ts'
import { createNoteSigner, openNote } from '../../core/log/note.ts'
import { ED25519_COSIGNATURE } from '../../core/log/verifier-key.ts'
import type { Vectors } from './vector.ts'

const seedOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const log = createNoteSigner('example.org/log', seedOf(1))
const other = createNoteSigner('example.org/log', seedOf(2))
const witness = createNoteSigner('witness.example', seedOf(3))
/** A checkpoint, as the log signs them. */
const TEXT = `example.org/log\n7\n${toBase64(seedOf(4))}\n`
const note = log.signNote(TEXT)

const lineOf = (signed: string): string => signed.slice(signed.lastIndexOf('\n\n') + 2)

/** A well-formed verifier key of the type that cosignatures have. */
function cosigningKey(name: string, publicKey: Uint8Array): string {
  const typedKey = concatBytes(Uint8Array.of(ED25519_COSIGNATURE), publicKey)
  const keyId = sha256Of(encodeUtf8(`${name}\n`), typedKey).subarray(0, 4)
  return `${name}+${toHex(keyId)}+${toBase64(typedKey)}`
}

interface SignedBy {
  readonly note: string
  readonly verifierKey: string
}

const valid = (description: string, shown: SignedBy): object => ({
  description,
  ...shown,
  expected: { valid: true, text: openNote(shown.note, shown.verifierKey) },
})

const broken = (description: string, change: Partial<SignedBy>): object => ({
  description,
  note,
  verifierKey: log.verifierKey,
  ...change,
  expected: { valid: false },
})

/** Signed notes of C2SP, and the verifier key that must have signed them. `expected.text` is what was signed. */
export function noteVectors(): Vectors {
  const { verifierKey } = log
  const line = lineOf(note)
  const shortened = line.replace(/(?<=.{60})[^=]{4}/, '')
  return {
    'one-signature': valid('A note with one signature', { note, verifierKey }),
    'more-signatures': valid('Signatures by other keys are ignored, also if they do not verify', {
      note: note + lineOf(witness.signNote(TEXT)) + lineOf(other.signNote('another text\n')),
      verifierKey,
    }),
    'empty-line-in-text': valid('The text ends before the last empty line', {
      note: log.signNote('one\n\ntwo\n'),
      verifierKey,
    }),
    'other-key': broken('The key has the same name, but another id', { verifierKey: other.verifierKey }),
    'other-name': broken('The key has the same public key, but another name', {
      verifierKey: createNoteSigner('example.org/other', seedOf(1)).verifierKey,
    }),
    'changed-text': broken('The size in the text is another one', { note: note.replace('\n7\n', '\n8\n') }),
    'wrong-signature': broken('The signature is that of another text', {
      note: `${TEXT}\n${lineOf(log.signNote('another text\n'))}`,
    }),
    'second-signature-wrong': broken('Of two signatures by the key, one does not verify', {
      note: note + lineOf(log.signNote('another text\n')),
    }),
    'short-signature': broken('The signature lacks three bytes', { note: `${TEXT}\n${shortened}` }),
    'no-signature': broken('There is no signature line', { note: TEXT }),
    'no-empty-line': broken('No empty line is before the signature', { note: TEXT + line }),
    'no-final-newline': broken('The last line does not end', { note: note.slice(0, -1) }),
    'hyphen-in-signature-line': broken('The line begins with a hyphen, not with U+2014', {
      note: note.replace('\u2014', '-'),
    }),
    'more-in-signature-line': broken('Another word follows the signature', { note: note.replace(/\n$/, ' more\n') }),
    'no-base64': broken('The signature has a character that base64 does not have', {
      note: note.replace(/.{5}\n$/, '*$&'),
    }),
    'control-character': broken('The text has a carriage return', { note: note.replace('\n7\n', '\r\n7\n') }),
    'key-with-wrong-id': broken('The id in the verifier key is not that of its name and key', {
      verifierKey: verifierKey.replace(/\+[0-9a-f]{8}\+/, '+00000000+'),
    }),
    'key-of-another-type': broken('The verifier key has the type 4, which cosignatures have', {
      verifierKey: cosigningKey('example.org/log', log.publicKey),
    }),
    'key-without-id': broken('The verifier key has only a name and a key', {
      verifierKey: verifierKey.replace(/\+[0-9a-f]{8}\+/, '+'),
    }),
  }
}

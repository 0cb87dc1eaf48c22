import { encodeUtf8, fromBase64, sha256Of, toHex } from '../bytes.ts'
import type { VerifierKey } from '../log/note.ts'
import { verificationError } from '../errors.ts'

/** The type byte of an Ed25519 cosignature key (https://c2sp.org/tlog-cosignature). */
const WITNESS_KEY_TYPE = 0x04
const PUBLIC_KEY_BYTES = 32
const KEY_ID_BYTES = 4

/** Parses the C2SP verifier key of a witness, `NAME+HASH+BASE64`. Throws `VERIFICATION_FAILED`. */
export function parseWitnessKey(text: string): VerifierKey {
  const [, name = '', hash = '', data = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(.*)$/s.exec(text) ?? []
  const bytes = fromBase64(data)
  if (bytes?.length !== 1 + PUBLIC_KEY_BYTES || bytes[0] !== WITNESS_KEY_TYPE)
    throw verificationError('Not the key of a witness: expected NAME+HASH+BASE64 with an Ed25519 cosignature key')
  const keyId = sha256Of(encodeUtf8(`${name}\n`), bytes).subarray(0, KEY_ID_BYTES)
  if (toHex(keyId) !== hash)
    throw verificationError('The hash in the verifier key does not match its name and public key')
  return { name, keyId, publicKey: bytes.subarray(1) }
}

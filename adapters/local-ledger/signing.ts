import { randomBytes, sign, type KeyObject } from 'node:crypto'
import { RegistryError } from '../kit/index.ts'
import {
  blockHash,
  MAX_INPUT_BYTES,
  NONCE_BYTES,
  openingHash,
  signedBytes,
  transactionOf,
  type BlockContent,
  type LedgerBlock,
  type LedgerOpening,
  type OpeningContent,
  type Signed,
  type Transaction,
} from '../../core/verify/chain/ledger-block.ts'

const KEY_BYTES = 32

/** Makes a transaction with a fresh nonce. Throws `VALIDATION_ERROR` if `input` is longer than 16,384 bytes. */
export function newTransaction(input: Uint8Array): Transaction {
  if (input.length <= MAX_INPUT_BYTES) return transactionOf(new Uint8Array(randomBytes(NONCE_BYTES)), input.slice())
  throw new RegistryError(
    'VALIDATION_ERROR',
    `An input of the local ledger must have at most ${MAX_INPUT_BYTES} bytes, got ${input.length}`,
  )
}

const withSignature = <T extends object>(content: T, hash: string, key: KeyObject): T & Signed => ({
  ...content,
  hash,
  signature: new Uint8Array(sign(null, signedBytes(hash), key)),
})

export const signOpening = (content: OpeningContent, key: KeyObject): LedgerOpening =>
  withSignature(content, openingHash(content), key)

export const signBlock = (content: BlockContent, key: KeyObject): LedgerBlock =>
  withSignature(content, blockHash(content), key)

/**
 * The 32 bytes of an Ed25519 public key: the end of its DER (RFC 8410 § 4). Throws `VERIFICATION_FAILED` for a key of
 * another kind.
 */
export function publicKeyBytes(key: KeyObject): Uint8Array {
  if (key.asymmetricKeyType !== 'ed25519')
    throw new RegistryError('VERIFICATION_FAILED', 'The public key is not an Ed25519 key')
  return new Uint8Array(key.export({ type: 'spki', format: 'der' })).slice(-KEY_BYTES)
}

import { randomBytes } from 'node:crypto'
import { concatBytes, sha256, toHex } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import { tag } from './tag.ts'

/**
 * A transaction puts some bytes on the ledger:
 *
 *     raw  = T("er1.ledger.tx") ‖ nonce ‖ input
 *     hash = SHA-256(raw)
 *
 * T(x) is ASCII x padded with zeros to 16 bytes; the nonce is 16 random bytes, so that the same input can be put twice. It is not
 * signed: only the ledger's own process can send it, and the block that takes it is signed.
 */
export interface Transaction {
  /** 64 lowercase hex digits. */
  readonly hash: string
  /** 16 bytes. */
  readonly nonce: Uint8Array
  readonly input: Uint8Array
}

const TAG = tag('er1.ledger.tx')
const NONCE_BYTES = 16
const HEAD_BYTES = TAG.length + NONCE_BYTES

/** A checkpoint has some 300 bytes; the bound keeps a block's line readable in one piece. */
export const MAX_INPUT_BYTES = 16_384

export const rawOf = ({ nonce, input }: Pick<Transaction, 'nonce' | 'input'>): Uint8Array =>
  concatBytes(TAG, nonce, input)

/** A new transaction over `input`. Throws `VALIDATION_ERROR` where that is too long. */
export function newTransaction(input: Uint8Array): Transaction {
  if (input.length > MAX_INPUT_BYTES)
    throw new RegistryError(
      'VALIDATION_ERROR',
      `The local ledger takes at most ${MAX_INPUT_BYTES} bytes, not ${input.length}`,
    )
  return transactionOf(new Uint8Array(randomBytes(NONCE_BYTES)), input.slice())
}

export function transactionOf(nonce: Uint8Array, input: Uint8Array): Transaction {
  return { hash: toHex(sha256(rawOf({ nonce, input }))), nonce, input }
}

/** The inverse of `rawOf`. Throws `VALIDATION_ERROR` where these bytes are no transaction of this ledger. */
export function parseRaw(raw: Uint8Array): Transaction {
  const known = raw.length >= HEAD_BYTES && raw.length <= HEAD_BYTES + MAX_INPUT_BYTES
  if (!known || !TAG.every((byte, index) => raw[index] === byte))
    throw new RegistryError('VALIDATION_ERROR', 'These bytes are not a transaction that the local ledger prepared')
  return transactionOf(raw.slice(TAG.length, HEAD_BYTES), raw.slice(HEAD_BYTES))
}

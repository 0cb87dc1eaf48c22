import { sign, verify, type KeyObject } from 'node:crypto'
import {
  concatBytes,
  decodeUtf8,
  encodeUtf8,
  equalBytes,
  fromBase64,
  fromHex,
  sha256Of,
  toBase64,
  toHex,
  u64,
} from '../../core/bytes.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import { tag } from './tag.ts'
import { MAX_INPUT_BYTES, transactionOf, type Transaction } from './transaction.ts'

/**
 * The ledger's file, `blocks.jsonl`, holds one JSON text a line, in exactly this form (no spaces, this order of fields, integers in
 * decimal, hashes and nonces in lowercase hex, inputs and signatures in padded base64):
 *
 *     {"version":1,"genesis":G,"blockTimeMs":B,"publicKey":"…","hash":"…","signature":"…"}
 *     {"height":N,"time":M,"previous":"…","transactions":[{"hash":"…","nonce":"…","input":"…"},…],"hash":"…","signature":"…"}
 *
 * The first line opens the ledger and counts as height 0; each block's `previous` is the hash of the line before it. With u64 as 8
 * bytes big-endian, T(x) as in `tag.ts`, times in ms since 1970, and raw bytes wherever hex or base64 stands for them:
 *
 *     opening hash = SHA-256(T("er1.ledger.open") ‖ u64(genesis) ‖ u64(blockTimeMs) ‖ publicKey)
 *     block hash   = SHA-256(T("er1.ledger.block") ‖ u64(height) ‖ u64(time) ‖ previous ‖ hash of each transaction)
 *     signature    = Ed25519(T("er1.ledger.sign") ‖ hash)
 *
 * `publicKey` is the 32 bytes of the Ed25519 key. So the last block's hash and signature vouch for every line.
 */
export interface LedgerOpening {
  readonly genesis: number
  readonly blockTimeMs: number
  readonly publicKey: Uint8Array
  readonly hash: string
}

export interface LedgerBlock {
  readonly height: number
  /** ms since 1970. */
  readonly time: number
  /** Hash of the block before, or of the opening. */
  readonly previous: string
  /** At least one, each once. */
  readonly transactions: readonly Transaction[]
  readonly hash: string
}

/** A line as it stands in the file, without its line feed. */
export interface Signed<T> {
  readonly content: T
  readonly signature: Uint8Array
}

const OPEN = tag('er1.ledger.open')
const BLOCK = tag('er1.ledger.block')
const SIGN = tag('er1.ledger.sign')
const VERSION = 1
const PUBLIC_KEY_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

export const MAX_BLOCK_TRANSACTIONS = 256
/** No line is longer: inputs in base64, and 256 bytes for the rest of each transaction and of the block. */
export const MAX_LINE_BYTES = (MAX_BLOCK_TRANSACTIONS + 1) * (Math.ceil(MAX_INPUT_BYTES / 3) * 4 + 256)

const failed = (reason: string, cause?: unknown): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', `The ledger's line does not verify: ${reason}`, { cause })

// -- hashes and signatures

export function openingOf(genesis: number, blockTimeMs: number, publicKey: Uint8Array): LedgerOpening {
  const hash = toHex(sha256Of(OPEN, u64(genesis), u64(blockTimeMs), publicKey))
  return { genesis, blockTimeMs, publicKey, hash }
}

export function blockOf(content: Omit<LedgerBlock, 'hash'>): LedgerBlock {
  const { height, time, previous, transactions } = content
  const hashes = transactions.map(({ hash }) => bytesOf(hash, 32))
  return { ...content, hash: toHex(sha256Of(BLOCK, u64(height), u64(time), bytesOf(previous, 32), ...hashes)) }
}

const signedBytes = (hash: string): Uint8Array => concatBytes(SIGN, bytesOf(hash, 32))

export const signHash = (hash: string, key: KeyObject): Uint8Array => new Uint8Array(sign(null, signedBytes(hash), key))

/** Throws `VERIFICATION_FAILED` where the signature over `hash` is not `publicKey`'s. */
export function checkSignature({ content, signature }: Signed<{ readonly hash: string }>, publicKey: KeyObject): void {
  if (publicKey.asymmetricKeyType !== 'ed25519' || !verify(null, signedBytes(content.hash), publicKey, signature))
    throw failed('the signature is wrong')
}

/** The 32 bytes of an Ed25519 public key, and back (RFC 8410 § 4). */
export const publicKeyBytes = (key: KeyObject): Uint8Array =>
  new Uint8Array(key.export({ type: 'spki', format: 'der' })).slice(PUBLIC_KEY_PREFIX.length)

// -- lines

export function formatOpening({ content, signature }: Signed<LedgerOpening>): Uint8Array {
  const { genesis, blockTimeMs, publicKey, hash } = content
  return encodeUtf8(
    JSON.stringify({
      version: VERSION,
      genesis,
      blockTimeMs,
      publicKey: toHex(publicKey),
      hash,
      signature: toBase64(signature),
    }),
  )
}

export function formatBlock({ content, signature }: Signed<LedgerBlock>): Uint8Array {
  const { height, time, previous, hash } = content
  const transactions = content.transactions.map((transaction) => ({
    hash: transaction.hash,
    nonce: toHex(transaction.nonce),
    input: toBase64(transaction.input),
  }))
  return encodeUtf8(JSON.stringify({ height, time, previous, transactions, hash, signature: toBase64(signature) }))
}

/** Throws `VERIFICATION_FAILED` where the line is not exactly what `formatOpening` writes, its hash recomputed. */
export function parseOpening(line: Uint8Array): Signed<LedgerOpening> {
  const fields = fieldsOf(line)
  const content = openingOf(
    integerOf(fields['genesis']),
    integerOf(fields['blockTimeMs']),
    bytesOf(textOf(fields['publicKey']), 32),
  )
  const opening = { content, signature: base64Of(fields['signature']) }
  if (content.blockTimeMs === 0) throw failed('a block time of 0')
  if (!equalBytes(formatOpening(opening), line)) throw failed('its hash or its form is not that of its content')
  return opening
}

/** Throws `VERIFICATION_FAILED` where the line is not exactly what `formatBlock` writes, its hashes recomputed. Checks no signature. */
export function parseBlock(line: Uint8Array): Signed<LedgerBlock> {
  const fields = fieldsOf(line)
  const listed: unknown = fields['transactions']
  if (!Array.isArray(listed) || listed.length === 0) throw failed('a block without transactions')
  const transactions = listed.map((item: unknown) => {
    const { nonce, input } = recordOf(item)
    return transactionOf(bytesOf(textOf(nonce), 16), base64Of(input))
  })
  if (new Set(transactions.map(({ hash }) => hash)).size !== transactions.length)
    throw failed('a transaction is there twice')
  const content = blockOf({
    height: integerOf(fields['height']),
    time: integerOf(fields['time']),
    previous: textOf(fields['previous']),
    transactions,
  })
  const block = { content, signature: base64Of(fields['signature']) }
  // Also what refuses spaces, other orders, unknown and double fields, and hashes that differ.
  if (!equalBytes(formatBlock(block), line)) throw failed('its hashes or its form are not those of its content')
  return block
}

/**
 * Verifies one block's line (without its line feed; the `evidence` of a confirmed anchor) alone: form, transaction hashes, block hash,
 * signature. That it is linked to the others is `verifyLedger`'s to say. Throws `VERIFICATION_FAILED`.
 */
export function verifyLedgerBlock(line: Uint8Array, publicKey: KeyObject): LedgerBlock {
  const block = parseBlock(line)
  checkSignature(block, publicKey)
  return block.content
}

/** True where the line is whole JSON; a line that a crash cut short, or left as zeros, never is. */
export function isJson(line: Uint8Array): boolean {
  try {
    JSON.parse(decodeUtf8(line))
    return true
  } catch {
    return false
  }
}

function fieldsOf(line: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return recordOf(JSON.parse(decodeUtf8(line)))
  } catch (error) {
    throw isRegistryError(error) ? error : failed('it is not JSON', error)
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw failed('an object is missing')
  return value as Readonly<Record<string, unknown>>
}

function integerOf(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw failed('a number is missing')
  return value as number
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw failed('a text is missing')
  return value
}

function bytesOf(hex: string, length: number): Uint8Array {
  const bytes = fromHex(hex)
  if (bytes?.length !== length) throw failed(`${length} bytes of hex are missing`)
  return bytes
}

function base64Of(value: unknown): Uint8Array {
  const bytes = fromBase64(textOf(value))
  if (!bytes) throw failed('base64 is missing')
  return bytes
}

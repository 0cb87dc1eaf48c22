import { verifySignature } from '../../log/verifier-key.ts'
import {
  concatBytes,
  decodeUtf8,
  encodeUtf8,
  equalBytes,
  fromHex,
  sha256,
  sha256Of,
  toBase64,
  toHex,
  u64,
} from '../../bytes.ts'
import { TAG_BYTES, tag } from '../../commitment/event-format.ts'
import { RegistryError, verificationError } from '../../errors.ts'
import { asArray, asBase64, asBytes, asCount, asHash, asObject } from '../untrusted.ts'

/**
 * The format of `blocks.jsonl`: one JSON text per line, in exactly this form (no spaces, members in this order,
 * integers in decimal, hashes and nonces in lowercase hex, inputs and signatures in padded base64):
 *
 *     {"version":1,"genesis":G,"blockTimeMs":B,"publicKey":"…","hash":"…","signature":"…"}
 *     {"height":N,"time":M,"previous":"…","transactions":[TRANSACTION],"hash":"…","signature":"…"}
 *
 * with TRANSACTION as
 *
 *     {"hash":"…","nonce":"…","input":"…"}
 *
 * The first line opens the ledger and counts as height 0. `previous` in a block is the hash of the line before it. The
 * hashes and signatures cover raw bytes, not their hex or base64. T(x) is ASCII x padded with zeros to 16 bytes, u64 is
 * 8 bytes big-endian, times are ms since 1970:
 *
 *     raw transaction  = T("er1.ledger.tx") ‖ nonce ‖ input
 *     transaction hash = SHA-256(raw transaction)
 *     opening hash     = SHA-256(T("er1.ledger.open") ‖ u64(genesis) ‖ u64(blockTimeMs) ‖ publicKey)
 *     block hash       = SHA-256(T("er1.ledger.block") ‖ u64(height) ‖ u64(time) ‖ previous ‖ transaction hash)
 *     signature        = Ed25519(T("er1.ledger.sign") ‖ opening hash or block hash)
 *
 * `publicKey` is the 32 bytes of the Ed25519 key. The last block's hash and signature cover all lines before it.
 */
const TRANSACTION = tag('er1.ledger.tx')
const OPENING = tag('er1.ledger.open')
const BLOCK = tag('er1.ledger.block')
const SIGNATURE = tag('er1.ledger.sign')

const VERSION = 1
export const NONCE_BYTES = 16
const HEAD_BYTES = TAG_BYTES + NONCE_BYTES
/** A checkpoint has about 300 bytes. The limit keeps a block's line small enough to read in one piece. */
export const MAX_INPUT_BYTES = 16_384
/** Upper bound of a line: the input in base64, and 1,024 bytes for all other members. */
export const MAX_LINE_BYTES = Math.ceil(MAX_INPUT_BYTES / 3) * 4 + 1_024

/** Bytes put on the ledger. Not signed itself: only the ledger's own process can send it, and its block is signed. */
export interface Transaction {
  /** 64 lowercase hex digits. */
  readonly hash: string
  /** 16 random bytes, so that the same input can be sent more than once. */
  readonly nonce: Uint8Array
  readonly input: Uint8Array
}

export interface Signed {
  /** 64 lowercase hex digits. */
  readonly hash: string
  readonly signature: Uint8Array
}

/** The first line of the file. */
export interface LedgerOpening extends Signed {
  /** Start of block 0, ms since 1970. */
  readonly genesis: number
  readonly blockTimeMs: number
  readonly publicKey: Uint8Array
}

/** A block, one line of the file. */
export interface LedgerBlock extends Signed {
  readonly height: number
  /** ms since 1970. */
  readonly time: number
  /** Hash of the block before it, or of the opening. */
  readonly previous: string
  /** Exactly one. */
  readonly transactions: readonly Transaction[]
}

// -- transactions

export const encodeTransaction = ({ nonce, input }: Pick<Transaction, 'nonce' | 'input'>): Uint8Array =>
  concatBytes(TRANSACTION, nonce, input)

/** The inverse of `encodeTransaction`. Throws `VALIDATION_ERROR` for any other bytes. */
export function decodeTransaction(raw: Uint8Array): Transaction {
  const isWithinLimits = raw.length >= HEAD_BYTES && raw.length <= HEAD_BYTES + MAX_INPUT_BYTES
  if (isWithinLimits && equalBytes(raw.subarray(0, TAG_BYTES), TRANSACTION))
    return transactionOf(raw.slice(TAG_BYTES, HEAD_BYTES), raw.slice(HEAD_BYTES))
  throw new RegistryError('VALIDATION_ERROR', 'These bytes are not a transaction that the local ledger prepared')
}

export function transactionOf(nonce: Uint8Array, input: Uint8Array): Transaction {
  return { hash: toHex(sha256(encodeTransaction({ nonce, input }))), nonce, input }
}

// -- hashes and signatures

export type OpeningContent = Omit<LedgerOpening, keyof Signed>
export type BlockContent = Omit<LedgerBlock, keyof Signed>

export const openingHash = ({ genesis, blockTimeMs, publicKey }: OpeningContent): string =>
  toHex(sha256Of(OPENING, u64(genesis), u64(blockTimeMs), publicKey))

export const blockHash = ({ height, time, previous, transactions }: BlockContent): string =>
  toHex(sha256Of(BLOCK, u64(height), u64(time), ...[previous, ...transactions.map(({ hash }) => hash)].map(hexBytes)))

/** The bytes of a hash that was computed here or already checked. */
function hexBytes(hash: string): Uint8Array {
  const bytes = fromHex(hash)
  if (bytes === undefined) throw new RangeError('A hash must be lowercase hex')
  return bytes
}

export const signedBytes = (hash: string): Uint8Array => concatBytes(SIGNATURE, hexBytes(hash))

/**
 * Throws `VERIFICATION_FAILED` if the signature was not made over the hash with this Ed25519 key, which has 32 bytes.
 */
export function assertSigned({ hash, signature }: Signed, publicKey: Uint8Array): void {
  if (!verifySignature(publicKey, signedBytes(hash), signature))
    throw verificationError('anchor.signature', 'The signature does not verify')
}

// -- lines

const formatLine = (members: object, { hash, signature }: Signed): Uint8Array =>
  encodeUtf8(JSON.stringify({ ...members, hash, signature: toBase64(signature) }))

export function formatOpening(opening: LedgerOpening): Uint8Array {
  const { genesis, blockTimeMs, publicKey } = opening
  return formatLine({ version: VERSION, genesis, blockTimeMs, publicKey: toHex(publicKey) }, opening)
}

export function formatBlock(block: LedgerBlock): Uint8Array {
  const { height, time, previous } = block
  const transactions = block.transactions.map(({ hash, nonce, input }) => {
    return { hash, nonce: toHex(nonce), input: toBase64(input) }
  })
  return formatLine({ height, time, previous, transactions }, block)
}

/**
 * Throws `VERIFICATION_FAILED` if the line is not exactly what `formatOpening` writes. Does not check the signature.
 */
export function parseLedgerOpening(line: Uint8Array): LedgerOpening {
  const members = asObject(parseJson(line), 'The line')
  const content = {
    genesis: asCount(members['genesis'], 'genesis'),
    blockTimeMs: asCount(members['blockTimeMs'], 'blockTimeMs'),
    publicKey: asHash(members['publicKey'], 'publicKey'),
  }
  if (content.blockTimeMs === 0) throw verificationError('anchor.malformed', 'blockTimeMs must not be 0')
  const opening = { ...content, hash: openingHash(content), signature: asBase64(members['signature'], 'signature') }
  assertCanonical(line, formatOpening(opening))
  return opening
}

/** Throws `VERIFICATION_FAILED` if the line is not exactly what `formatBlock` writes. Does not check the signature. */
export function parseBlock(line: Uint8Array): LedgerBlock {
  const members = asObject(parseJson(line), 'The line')
  const content = {
    height: asCount(members['height'], 'height'),
    time: asCount(members['time'], 'time'),
    previous: toHex(asHash(members['previous'], 'previous')),
    transactions: asArray(members['transactions'], 'transactions').map(parseTransaction),
  }
  if (content.transactions.length !== 1)
    throw verificationError('anchor.malformed', 'The block must have one transaction')
  const block = { ...content, hash: blockHash(content), signature: asBase64(members['signature'], 'signature') }
  assertCanonical(line, formatBlock(block))
  return block
}

/** False for a line that a crash cut short or that the disk left as zeros. */
export const isJson = (line: Uint8Array): boolean => parseJson(line) !== undefined

/** Returns `undefined`, which is not a JSON value, if the line is not JSON. */
function parseJson(line: Uint8Array): unknown {
  try {
    return JSON.parse(decodeUtf8(line))
  } catch {
    return undefined
  }
}

function parseTransaction(item: unknown): Transaction {
  const members = asObject(item, 'A transaction')
  const nonce = asBytes(members['nonce'], 'nonce')
  if (nonce.length !== NONCE_BYTES)
    throw verificationError('anchor.malformed', `A nonce must have ${NONCE_BYTES} bytes`)
  return transactionOf(nonce, asBase64(members['input'], 'input'))
}

/** Rejects spaces, another order, unknown or duplicate members, and hashes that do not match the content. */
function assertCanonical(line: Uint8Array, expected: Uint8Array): void {
  if (!equalBytes(line, expected))
    throw verificationError('anchor.malformed', 'The hashes or the form of the line do not match its content')
}

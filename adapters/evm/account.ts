import { fromHex, RegistryError } from '../kit/index.ts'
import { loadEthers, type Ethers } from './ethers.ts'
import type { FeeOffer } from './fees.ts'
import { hexOf, keccak256 } from '../../core/verify/chain/rlp.ts'

/** The fields of an anchor's transaction. It always pays nothing to its own sender. */
export interface AnchorTransactionFields extends FeeOffer {
  readonly chainId: number
  readonly nonce: number
  readonly gasLimit: bigint
  readonly input: Uint8Array
}

/** A transaction that is ready to be sent. */
export interface SignedTransaction {
  /** `0x` and the Keccak-256 of `raw`. */
  readonly hash: string
  /** EIP-2718: the byte 2 and the RLP of an EIP-1559 transaction. */
  readonly raw: Uint8Array
}

/**
 * An account of the chain that can sign. Only the registry should use it: a transaction that another program sends from
 * it takes a nonce. Made by `accountOfPrivateKey` or `accountOfKeystore`.
 */
export interface EvmAccount {
  /** `0x` hex in mixed case (EIP-55). */
  readonly address: string
  /** Signs a transaction of value 0 to the account itself. The same fields give the same bytes (RFC 6979). */
  sign(fields: AnchorTransactionFields): SignedTransaction
}

const KEY_MESSAGE = 'The EVM private key must be 64 hex digits, a number from 1 to the order of secp256k1 less 1'
const KEYSTORE_MESSAGE = 'The EVM keystore is not a Web3 Secret Storage file of version 3'

/**
 * Makes an account from its private key. Needs the package `ethers`.
 *
 * @param text 64 hex digits, with `0x` or without; white space around them is ignored
 * @returns the account
 * @throws `CONFIG_ERROR` if the key is not valid (the message does not show it), or if `ethers` is not installed
 * @example
 * const account = await accountOfPrivateKey(await readFile('/etc/evidence/evm.key', 'utf8'))
 */
export async function accountOfPrivateKey(text: string): Promise<EvmAccount> {
  return accountOf(await loadEthers(), text)
}

/**
 * Makes an account from a keystore file, which takes about a second. Needs the package `ethers`.
 *
 * @param json the file's text: Web3 Secret Storage, version 3
 * @param password the file's password
 * @returns the account
 * @throws `CONFIG_ERROR` if the file or the password is wrong, or if `ethers` is not installed
 * @example
 * const account = await accountOfKeystore(await readFile('keystore.json', 'utf8'), password)
 */
export async function accountOfKeystore(json: string, password: string): Promise<EvmAccount> {
  const ethers = await loadEthers()
  if (!ethers.isKeystoreJson(json)) throw new RegistryError('CONFIG_ERROR', KEYSTORE_MESSAGE)
  try {
    return accountOf(ethers, (await ethers.decryptKeystoreJson(json, password)).privateKey)
  } catch {
    // Without the cause, which may describe the key.
    throw new RegistryError(
      'CONFIG_ERROR',
      'The EVM keystore cannot be decrypted: check its password and that the file is complete',
    )
  }
}

function accountOf(ethers: Ethers, text: string): EvmAccount {
  const hex = text.trim().replace(/^0x/i, '').toLowerCase()
  const bytes = hex.length === 64 ? fromHex(hex) : undefined
  if (bytes === undefined) throw new RegistryError('CONFIG_ERROR', KEY_MESSAGE)
  try {
    const key = new ethers.SigningKey(bytes)
    const address = ethers.computeAddress(key.publicKey)
    return { address, sign: (fields) => sign(ethers, key, { ...fields, to: address }) }
  } catch {
    // Without the cause, which may describe the key.
    throw new RegistryError('CONFIG_ERROR', KEY_MESSAGE)
  }
}

function sign(
  { Transaction }: Ethers,
  key: InstanceType<Ethers['SigningKey']>,
  { input, ...fields }: AnchorTransactionFields & { readonly to: string },
): SignedTransaction {
  const transaction = Transaction.from({ type: 2, value: 0, data: hexOf(input), ...fields })
  transaction.signature = key.sign(transaction.unsignedHash)
  const raw = new Uint8Array(Buffer.from(transaction.serialized.slice(2), 'hex'))
  return { hash: keccak256(raw), raw }
}

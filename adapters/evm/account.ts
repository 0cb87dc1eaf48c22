import { keccak256, SigningKey } from 'ethers/crypto'
import { computeAddress, Transaction } from 'ethers/transaction'
import { decryptKeystoreJson, isKeystoreJson } from 'ethers/wallet'
import { fromHex } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import type { FeeOffer } from './fees.ts'
import { hexOf } from './quantity.ts'

/** What an anchor's transaction says, beside that it pays nothing to its own sender. */
export interface AnchorTransactionFields extends FeeOffer {
  readonly chainId: number
  readonly nonce: number
  readonly gasLimit: bigint
  readonly input: Uint8Array
}

export interface SignedTransaction {
  /** `0x` and the Keccak-256 of `raw`. */
  readonly hash: string
  /** EIP-2718: type 2 and its RLP. */
  readonly raw: Uint8Array
}

/** An account of the chain and its key. It should be the registry's alone: others that send from it take nonces. */
export class EvmAccount {
  /** EIP-55, mixed case. */
  readonly address: string
  readonly #key: SigningKey

  constructor(key: SigningKey) {
    this.#key = key
    this.address = computeAddress(key.publicKey)
  }

  /** Signs a transaction of value 0 to the account itself. Deterministic (RFC 6979). */
  sign({ input, ...fields }: AnchorTransactionFields): SignedTransaction {
    const transaction = Transaction.from({ type: 2, to: this.address, value: 0, data: hexOf(input), ...fields })
    transaction.signature = this.#key.sign(transaction.unsignedHash)
    const raw = fromHex(transaction.serialized.slice(2)) as Uint8Array
    return { hash: keccak256(raw), raw }
  }
}

/** From 32 bytes in hex, with `0x` or without. Throws `CONFIG_ERROR`, which does not show them. */
export function accountOfPrivateKey(text: string): EvmAccount {
  const hex = text.trim().replace(/^0x/i, '').toLowerCase()
  const bytes = hex.length === 64 ? fromHex(hex) : undefined
  const refusal = 'The EVM private key takes 64 hex digits, a number below the order of secp256k1'
  if (bytes === undefined) throw new RegistryError('CONFIG_ERROR', refusal)
  try {
    return new EvmAccount(new SigningKey(bytes))
  } catch {
    // Without its cause: what fails is about the key.
    throw new RegistryError('CONFIG_ERROR', refusal)
  }
}

/** From a keystore file's JSON (Web3 Secret Storage version 3) and its password. Takes about a second. Throws `CONFIG_ERROR`. */
export async function accountOfKeystore(json: string, password: string): Promise<EvmAccount> {
  if (!isKeystoreJson(json))
    throw new RegistryError('CONFIG_ERROR', 'The EVM keystore is no Web3 Secret Storage file of version 3')
  try {
    return accountOfPrivateKey((await decryptKeystoreJson(json, password)).privateKey)
  } catch {
    throw new RegistryError('CONFIG_ERROR', 'The EVM keystore does not open: check its password and that it is whole')
  }
}

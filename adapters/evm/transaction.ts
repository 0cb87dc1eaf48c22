import { keccak256 } from 'ethers/crypto'
import { Transaction } from 'ethers/transaction'
import type { FeeOffer } from './fees.ts'
import { hexOf } from './quantity.ts'

/** What a raw transaction of type 2 says. */
export interface ParsedTransaction extends FeeOffer {
  readonly hash: string
  readonly chainId: bigint
  readonly nonce: number
  readonly gasLimit: bigint
  readonly value: bigint
  /** EIP-55; `null` for one that makes a contract. */
  readonly to: string | null
  /** EIP-55, recovered from the signature. */
  readonly from: string
  /** `0x` and lowercase hex. */
  readonly input: string
}

/** `undefined` for what is no signed transaction of type 2 (EIP-1559) in its one canonical encoding. */
export function parseTransaction(raw: Uint8Array): ParsedTransaction | undefined {
  const hex = hexOf(raw)
  try {
    const parsed = Transaction.from(hex)
    const { from, nonce, gasLimit, chainId, value, to, data: input, maxFeePerGas, maxPriorityFeePerGas } = parsed
    if (parsed.type !== 2 || from === null || maxFeePerGas === null || maxPriorityFeePerGas === null) return undefined
    if (parsed.serialized !== hex) return undefined
    const hash = keccak256(raw)
    return { hash, chainId, nonce, gasLimit, value, to, from, input, maxFeePerGas, maxPriorityFeePerGas }
  } catch {
    return undefined
  }
}

import { RegistryError } from '../kit/index.ts'

/** What a transaction offers for each gas, in wei (EIP-1559). */
export interface FeeOffer {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** Current prices of the network, in wei per gas. */
export interface FeeMarket {
  /** Base fee of the newest block. */
  readonly baseFee: bigint
  /** The tip that a node suggests. */
  readonly priorityFee: bigint
}

const WEI_PER_GWEI = 1_000_000_000n

/**
 * Converts gwei to wei.
 *
 * @param gweiAmount with up to nine decimals; requires 0 <= gweiAmount < 9,000,000
 * @returns wei, rounded to a whole number
 * @example
 * weiOf(1.5) // 1_500_000_000n
 */
export const weiOf = (gweiAmount: number): bigint => BigInt(Math.round(gweiAmount * 1e9))

/**
 * Returns what a new transaction offers: the suggested tip, and a ceiling of twice the base fee plus the tip. The base
 * fee rises by at most an eighth per full block (EIP-1559) and so doubles in six, which leaves time for five blocks.
 * A replacement outbids each of `rivals` (transactions with its nonce) by an eighth, because nodes require a tenth or
 * more of both fees. Never offers more than `cap`: throws `ANCHOR_FAILED` if that is too little.
 */
export function offerFor(market: FeeMarket, cap: bigint, rivals: readonly FeeOffer[]): FeeOffer {
  const { baseFee, priorityFee } = market
  if (baseFee >= cap)
    throw new RegistryError(
      'ANCHOR_FAILED',
      `The network's base fee is ${gwei(baseFee)} gwei, but the cap is ${gwei(cap)} gwei. It is tried again; ` +
        'if it stays so, raise the cap',
    )
  const minimum = {
    maxFeePerGas: highest(rivals.map(({ maxFeePerGas }) => outbid(maxFeePerGas))),
    maxPriorityFeePerGas: highest(rivals.map(({ maxPriorityFeePerGas }) => outbid(maxPriorityFeePerGas))),
  }
  const tip = highest([priorityFee, minimum.maxPriorityFeePerGas])
  const maxFeePerGas = lowest(cap, highest([2n * baseFee + tip, minimum.maxFeePerGas]))
  const maxPriorityFeePerGas = lowest(tip, maxFeePerGas)
  if (maxFeePerGas < minimum.maxFeePerGas || maxPriorityFeePerGas < minimum.maxPriorityFeePerGas)
    throw new RegistryError(
      'ANCHOR_FAILED',
      'A replacement would have to offer ' +
        `${gwei(highest([minimum.maxFeePerGas, minimum.maxPriorityFeePerGas]))} gwei, but the cap is ` +
        `${gwei(cap)} gwei. The earlier transaction may still be included; if it is not, raise the cap`,
    )
  return { maxFeePerGas, maxPriorityFeePerGas }
}

/** Whether the network ignores the offer: it cannot pay the base fee, or its tip is below the suggested one. */
export function isOutbid({ maxFeePerGas, maxPriorityFeePerGas }: FeeOffer, market: FeeMarket): boolean {
  return (
    lowest(maxPriorityFeePerGas, maxFeePerGas - market.baseFee) < market.priorityFee || maxFeePerGas < market.baseFee
  )
}

const outbid = (fee: bigint): bigint => fee + fee / 8n + 1n
const highest = (fees: readonly bigint[]): bigint => fees.reduce((a, b) => (a > b ? a : b), 0n)
const lowest = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** Formats wei as gwei with up to nine decimals. */
export function gwei(wei: bigint): string {
  const decimals = (wei % WEI_PER_GWEI).toString().padStart(9, '0').replace(/0+$/, '')
  return `${wei / WEI_PER_GWEI}${decimals === '' ? '' : '.'}${decimals}`
}

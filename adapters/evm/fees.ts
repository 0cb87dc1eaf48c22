import { RegistryError } from '../../core/errors.ts'

/** EIP-1559: wei a gas. */
export interface FeeOffer {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** What the network asks at this moment, wei a gas. */
export interface FeeMarket {
  /** Of the newest block. */
  readonly baseFee: bigint
  /** The tip that a node suggests. */
  readonly priorityFee: bigint
}

const WEI_PER_GWEI = 1_000_000_000n

/** Of gwei with up to nine decimals. Requires 0 <= gwei < 9,000,000. */
export const weiOf = (value: number): bigint => BigInt(Math.round(value * 1e9))

/**
 * What a new transaction offers: the suggested tip, and a ceiling at which it stays in the running for five full blocks, the base fee
 * rising by an eighth with each (EIP-1559) and so doubling in six. One that replaces `rivals` of its nonce outbids each of them by an
 * eighth: nodes ask for a tenth or more of both fees. Never above `cap`: throws `ANCHOR_FAILED` where that is too little.
 */
export function offerFor(market: FeeMarket, cap: bigint, rivals: readonly FeeOffer[]): FeeOffer {
  const { baseFee, priorityFee } = market
  if (baseFee >= cap)
    throw new RegistryError(
      'ANCHOR_FAILED',
      `The network's base fee is ${gwei(baseFee)} gwei, and the cap ${gwei(cap)}: it is tried again; where it stays so, raise the cap`,
    )
  const least = {
    maxFeePerGas: highest(rivals.map(({ maxFeePerGas }) => outbid(maxFeePerGas))),
    maxPriorityFeePerGas: highest(rivals.map(({ maxPriorityFeePerGas }) => outbid(maxPriorityFeePerGas))),
  }
  const tip = highest([priorityFee, least.maxPriorityFeePerGas])
  const maxFeePerGas = lowest(cap, highest([2n * baseFee + tip, least.maxFeePerGas]))
  const maxPriorityFeePerGas = lowest(tip, maxFeePerGas)
  if (maxFeePerGas < least.maxFeePerGas || maxPriorityFeePerGas < least.maxPriorityFeePerGas)
    throw new RegistryError(
      'ANCHOR_FAILED',
      `A replacement would have to offer ${gwei(highest([least.maxFeePerGas, least.maxPriorityFeePerGas]))} gwei, and the cap is ${gwei(cap)}: what was sent may still be included; where it is not, raise the cap`,
    )
  return { maxFeePerGas, maxPriorityFeePerGas }
}

/** Whether the network passes it over: it can not pay the base fee, or leaves less of a tip than a node suggests. */
export function isOutbid({ maxFeePerGas, maxPriorityFeePerGas }: FeeOffer, market: FeeMarket): boolean {
  return (
    lowest(maxPriorityFeePerGas, maxFeePerGas - market.baseFee) < market.priorityFee || maxFeePerGas < market.baseFee
  )
}

const outbid = (fee: bigint): bigint => fee + fee / 8n + 1n
const highest = (fees: readonly bigint[]): bigint => fees.reduce((a, b) => (a > b ? a : b), 0n)
const lowest = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** For people: gwei with up to nine decimals. */
export function gwei(wei: bigint): string {
  const decimals = (wei % WEI_PER_GWEI).toString().padStart(9, '0').replace(/0+$/, '')
  return `${wei / WEI_PER_GWEI}${decimals === '' ? '' : '.'}${decimals}`
}

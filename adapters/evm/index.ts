export {
  accountOfKeystore,
  accountOfPrivateKey,
  type AnchorTransactionFields,
  type EvmAccount,
  type SignedTransaction,
} from './account.ts'
export { openEvmAnchor, type EvmAnchor, type EvmAnchorOptions } from './anchor.ts'
export { verifyEvmAnchor, type ExpectedEvmAnchor, type VerifiedEvmAnchor } from '../../core/verify/chain/evm-anchor.ts'
export { weiOf, type FeeOffer } from './fees.ts'
export type { ProxySettings } from '../outside.ts'

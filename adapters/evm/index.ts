export { accountOfKeystore, accountOfPrivateKey, EvmAccount } from './account.ts'
export { openEvmAnchor, type EvmAnchor, type EvmAnchorOptions } from './anchor.ts'
export { verifyEvmAnchor, type ExpectedEvmAnchor, type VerifiedEvmAnchor } from './inclusion-proof.ts'
export { weiOf } from './fees.ts'

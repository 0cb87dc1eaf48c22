export type { LedgerBlock, Transaction } from '../../core/verify/chain/ledger-block.ts'
export { verifyLedger, verifyLedgerBlock, type LedgerSummary } from './chain.ts'
export { ledgerPrefix } from './prefix.ts'
export { LocalLedger, openLocalLedger, type LocalLedgerOptions } from './ledger.ts'

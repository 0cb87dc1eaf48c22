export type { LedgerBlock, Transaction } from '../../core/verify/chain/ledger-block.ts'
export { verifyLedger, verifyLedgerBlock, type LedgerSummary } from './chain.ts'
export { openLocalLedger, type LocalLedger, type LocalLedgerOptions } from './ledger.ts'

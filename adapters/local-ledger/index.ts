export type { LedgerBlock, Transaction } from './block.ts'
export { verifyLedger, verifyLedgerBlock, type LedgerSummary } from './chain.ts'
export { openLocalLedger, type LocalLedger, type LocalLedgerOptions } from './ledger.ts'

export { verifyLedgerBlock, type LedgerBlock } from './block.ts'
export { openLocalLedger, type LocalLedger, type LocalLedgerOptions } from './ledger.ts'
export type { Transaction } from './transaction.ts'
export { verifyLedger, type LedgerSummary } from './verify.ts'

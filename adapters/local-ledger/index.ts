export { ledgerPrefix, verifyLedger, type Chain } from './chain.ts'
export { LocalLedger, openLocalLedger, type LocalLedgerOptions } from './ledger.ts'

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './repository.ts'

const read = (name: string): string => readFileSync(join(root, 'test/core/log', name), 'utf8')

/**
 * A C2SP tlog-proof that was computed without our code: log seed 00 01 … 1f, witness seed 32 × 01, entries SHA-256("a")
 * and the txId of the worked example.
 */
export const TLOG_PROOF = read('example.tlog-proof')
/** What a reader pins for it. */
export const TLOG_PROOF_POLICY = read('example-policy.txt')

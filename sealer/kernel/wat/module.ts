import { MAX_PAGES, SCRATCH_AT, TABLES_AT } from '../layout.ts'
import { int, type Statement } from './expression.ts'
import { hashingFunctions } from './hashing.ts'
import { proofFunctions } from './proofs.ts'

/** The kernel's WebAssembly text. The memory is imported: its creator writes the tables and chooses the size. */
export function kernelText(): string {
  const module: readonly Statement[] = [
    '(module',
    `  (import "kernel" "memory" (memory 1 ${MAX_PAGES}))`,
    `  (global $tables i32 ${int(TABLES_AT)})`,
    `  (global $scratch i32 ${int(SCRATCH_AT)})`,
    ...[...hashingFunctions, ...proofFunctions].map((line) => `  ${line}`),
    ')',
  ]
  return `${module.join('\n')}\n`
}

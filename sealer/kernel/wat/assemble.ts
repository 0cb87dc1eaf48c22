import wabt from 'wabt'
import { MAX_PAGES, SCRATCH_AT, TABLES_AT } from '../layout.ts'
import { int, type Statement } from './expression.ts'
import { hashingFunctions } from './hashing.ts'
import { proofFunctions } from './proofs.ts'

/** The kernel's WebAssembly text. The memory is imported: its creator writes the tables and chooses the size. */
function kernelText(): string {
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

/**
 * Assembles the kernel from its text, in about 0.1 s. Only the build and runs from source need it, so `wabt` is a
 * development dependency.
 */
export async function assembleKernel(): Promise<Uint8Array> {
  const assembler = await wabt()
  const module = assembler.parseWat('kernel.wat', kernelText(), { simd: true, bulk_memory: true })
  try {
    return module.toBinary({}).buffer
  } finally {
    module.destroy()
  }
}

/**
 * The JavaScript that replaces the compiled `binary.ts`: the kernel's bytes in base64. So the published package loads
 * the kernel without an assembler, a file system or a fetch, in Node, in workers and in browsers.
 */
export const binarySource = (binary: Uint8Array): string => `// Made by the build from the text of kernel/wat.
const base64 = '${Buffer.from(binary).toString('base64')}'
export async function kernelBinary() {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}
`

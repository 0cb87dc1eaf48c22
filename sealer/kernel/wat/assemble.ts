import wabt from 'wabt'
import { kernelText } from './module.ts'

/** Assembles the kernel from its text: some 0.1 s. Only the build and runs from source come here, so `wabt` is no dependency of what ships. */
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
 * JavaScript that takes the compiled `binary.ts`'s place: the bytes in base64. So what is published loads without the assembler, a file
 * system or a fetch, in Node, its workers and browsers alike.
 */
export const binarySource = (binary: Uint8Array): string => `// Made by the build from the text of kernel/wat.
const base64 = '${Buffer.from(binary).toString('base64')}'
export async function kernelBinary() {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}
`

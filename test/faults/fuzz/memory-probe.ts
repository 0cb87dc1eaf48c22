import { renameSync, writeFileSync } from 'node:fs'

/**
 * Preloaded into the server (`--expose-gc --import`): on SIGWINCH it collects garbage and writes the bytes that are
 * still in use to the file that FUZZ_MEMORY_FILE names. The server ends at SIGUSR2.
 */
const path = String(process.env['FUZZ_MEMORY_FILE'])

process.on('SIGWINCH', () => {
  globalThis.gc?.()
  // What finalizers release is free only after a second collection.
  setImmediate(() => {
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    writeFileSync(`${path}.new`, String(heapUsed + external))
    renameSync(`${path}.new`, path)
  })
})

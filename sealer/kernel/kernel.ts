import { RegistryError } from '../../core/errors.ts'
import { kernelBinary } from './binary.ts'
import { MAX_PAGES, PAGE_BYTES, WORKSPACE_AT, writeTables } from './layout.ts'
import { WebAssembly, type Memory, type Module } from './webassembly.ts'

/**
 * The hashing kernel: four SHA-256 side by side in WebAssembly SIMD. Nothing here needs Node.
 *
 * All places are offsets in the memory, from `ROOM_AT` on: the byte before an input is read, and its value does not matter. They need
 * no alignment. Input and output must not overlap. What lies outside the memory throws a WebAssembly.RuntimeError.
 */
export interface Kernel {
  /** H(00 ‖ entry) of `count` entries of 32 bytes, RFC 9162 § 2.1.1. Writes exactly `count` hashes. */
  hashLeaves(entriesAt: number, outAt: number, count: number): void
  /** H(01 ‖ left ‖ right) of `count` pairs of hashes. Writes exactly `count` hashes. */
  hashNodes(childrenAt: number, outAt: number, count: number): void
  /**
   * The inclusion proofs of leaves `first` to `end` (exclusive) of a stored tile with `width` hashes in row 0 (core/log/tree/tile.ts): for
   * each, the siblings in rows 0 to `levels` - 1, which the tile must hold, then `aboveBytes` bytes from `aboveAt`.
   */
  copyProofs(
    tileAt: number,
    width: number,
    levels: number,
    aboveAt: number,
    aboveBytes: number,
    first: number,
    end: number,
    outAt: number,
  ): void
  /** `count` hashes as items of JSON, each a quote, 64 lowercase digits, a quote and a comma: 67 bytes. */
  writeItems(hashesAt: number, count: number, outAt: number): void
  /**
   * As `copyProofs`, in lines. The tile is given as items. Each line is the head, the leaf's item of `entriesAt`, the middle, the
   * siblings' items, and in place of the last `overlap` bytes of these the tail. The head holds a decimal number whose last digit is
   * at `digitAt`; it is counted up from line to line, and must not become longer on the way. Answers where the lines end; up to 31
   * bytes more are written.
   */
  writeLines(
    tileItemsAt: number,
    width: number,
    levels: number,
    headAt: number,
    headBytes: number,
    digitAt: number,
    entriesAt: number,
    middleAt: number,
    middleBytes: number,
    tailAt: number,
    tailBytes: number,
    overlap: number,
    first: number,
    end: number,
    outAt: number,
  ): number
}

let compiled: Promise<Module> | undefined

/**
 * The compiled kernel; made once. A worker is best sent it: it shares the code that was already optimised. Throws `CONFIG_ERROR`
 * where there is no WebAssembly: Node has it, with SIMD, unless it was started without (`--jitless`).
 */
export function compileKernel(): Promise<Module> {
  compiled ??= (async () => {
    if (WebAssembly === undefined)
      throw new RegistryError('CONFIG_ERROR', 'The sealing engine needs WebAssembly: start Node without --jitless')
    return WebAssembly.compile(await kernelBinary())
  })()
  return compiled
}

export interface KernelWorkspace {
  readonly kernel: Kernel
  /** The whole memory. What is worked on lies from `ROOM_AT` to its end. */
  readonly bytes: Uint8Array
}

/**
 * An instance with a memory of its own that has `roomBytes` to work in. Without `hashes` it does all but hashing, which wants tables
 * that take 1.8 ms to make.
 */
export function openKernel(module: Module, workspaceBytes: number, hashes = true): KernelWorkspace {
  const api = WebAssembly as NonNullable<typeof WebAssembly>
  const memory: Memory = new api.Memory({
    initial: Math.ceil((WORKSPACE_AT + workspaceBytes) / PAGE_BYTES),
    maximum: MAX_PAGES,
  })
  if (hashes) writeTables(memory.buffer)
  const kernel = new api.Instance(module, { kernel: { memory } }).exports as Kernel
  return { kernel, bytes: new Uint8Array(memory.buffer) }
}

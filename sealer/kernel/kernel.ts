import { RegistryError } from '../../core/errors.ts'
import { kernelBinary } from './binary.ts'
import { MAX_PAGES, PAGE_BYTES, WORKSPACE_AT, writeTables } from './layout.ts'

/**
 * The hashing kernel: four SHA-256 in parallel, in WebAssembly SIMD. Needs no Node API. The parameters are positional
 * because WebAssembly functions take numbers only.
 *
 * All `…At` parameters are offsets in the kernel's memory, from `WORKSPACE_AT` on, without alignment. The byte before
 * an input is read, but its value does not matter. Input and output must not overlap. An access outside the memory
 * throws a WebAssembly.RuntimeError.
 */
export interface Kernel {
  /** Writes H(00 ‖ entry) for `count` entries of 32 bytes (RFC 9162 § 2.1.1). */
  hashLeaves(entriesAt: number, outAt: number, count: number): void
  /** Writes H(01 ‖ left ‖ right) for `count` pairs of hashes. */
  hashNodes(childrenAt: number, outAt: number, count: number): void
  /**
   * Writes the inclusion proofs of the leaves `first` to `end` (exclusive) of a stored tile with `width` hashes in row
   * 0 (core/log/tree/tile.ts). Each proof is the siblings in the rows 0 to `levels` - 1, which the tile must hold, then
   * `aboveBytes` bytes from `aboveAt`.
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
}

// The part of the WebAssembly API that the kernel uses. TypeScript has it only in its DOM library, which describes much
// that Node does not have. A `declare global` would conflict with it in a browser project.

interface Memory {
  readonly buffer: ArrayBuffer
}

/** Opaque. Can be sent to a worker, which then shares the compiled code. */
export interface Module {
  readonly __brand: 'WebAssembly.Module'
}

interface Api {
  readonly Memory: new (options: { readonly initial: number; readonly maximum: number }) => Memory
  readonly Instance: new (
    module: Module,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ) => { readonly exports: Kernel }
  compile(bytes: Uint8Array): Promise<Module>
}

let compiled: Promise<Module> | undefined

/**
 * Returns the compiled kernel. It is compiled once. Send it to workers, because they then share the optimised code.
 * Throws `CONFIG_ERROR` if there is no WebAssembly: Node has it, with SIMD, unless it was started with `--jitless`.
 */
export function compileKernel(): Promise<Module> {
  compiled ??= (async () => webAssembly().compile(await kernelBinary()))()
  return compiled
}

/** An instance of the kernel with its own memory. */
interface KernelWorkspace {
  readonly kernel: Kernel
  /** The whole memory. Inputs and outputs are between `WORKSPACE_AT` and its end. */
  readonly bytes: Uint8Array
}

/**
 * Creates an instance with its own memory, which has `workspaceBytes` for inputs and outputs. Without `hashes` the
 * instance cannot hash: this saves writing its tables, which takes 1.8 ms.
 */
export function openKernel(module: Module, workspaceBytes: number, hashes = true): KernelWorkspace {
  const api = webAssembly()
  const memory: Memory = new api.Memory({
    initial: Math.ceil((WORKSPACE_AT + workspaceBytes) / PAGE_BYTES),
    maximum: MAX_PAGES,
  })
  if (hashes) writeTables(memory.buffer)
  const kernel = new api.Instance(module, { kernel: { memory } }).exports
  return { kernel, bytes: new Uint8Array(memory.buffer) }
}

function webAssembly(): Api {
  const api: Api | undefined = Reflect.get(globalThis, 'WebAssembly')
  if (api !== undefined) return api
  throw new RegistryError('CONFIG_ERROR', 'The sealing engine needs WebAssembly: start Node without --jitless')
}

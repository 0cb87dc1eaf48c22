/**
 * The types of the WebAssembly API that the kernel uses. TypeScript has them only in its DOM library, which describes
 * much that Node does not have. A `declare global` would conflict with it in a browser project.
 */

export interface Memory {
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
  ) => { readonly exports: object }
  compile(bytes: Uint8Array): Promise<Module>
}

/** `undefined` if the program was started without WebAssembly. */
export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: Api | undefined }

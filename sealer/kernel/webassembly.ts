/**
 * The part of WebAssembly's JavaScript API that the kernel uses. TypeScript describes it in its DOM types only, which say much that is
 * not true of Node, and a `declare global` would clash with them in a browser's project.
 */

export interface Memory {
  readonly buffer: ArrayBuffer
}

/** Opaque; can be sent to a worker, which then shares the compiled code. */
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

/** `undefined` where the program was started without. */
export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: Api | undefined }

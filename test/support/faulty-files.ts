import type { FileHandle } from 'node:fs/promises'
import { nodeFiles, type FileOperations } from '../../adapters/files/durable.ts'
import { writeFileByCalls } from './write-file-by-calls.ts'

/** An operation of `FileOperations` or of a file handle; `stat` stands for both. */
export type Operation = Exclude<keyof FileOperations, 'writeFile'> | 'write' | 'sync' | 'close' | 'read' | 'truncate'
/** Whether the call that fails has its effect. */
export type Fault = 'not applied' | 'applied'

/** Which call fails, and how. */
export interface Plan {
  readonly operation: Operation
  /** Which call of the operation fails, counted from 1. */
  readonly nth: number
  readonly fault: Fault
  /** The errno code of the error, such as `EIO`. */
  readonly code: string
}

/** Real file operations of which one call fails, before or after its effect. */
export class FaultyFiles {
  readonly files: FileOperations = this.#wrapAll({
    ...nodeFiles,
    writeFile: (path, bytes, options) => writeFileByCalls(this.files.open, path, bytes, options),
  })
  /** The names of all calls so far, in order. */
  readonly calls: string[] = []
  /** Called before each call is made. */
  onCall: (name: string) => void = () => undefined
  /** A write writes at most this many bytes at once, as write(2) may. */
  writeAtMost = Infinity
  /** Number of file handles that are open now. */
  openHandles = 0
  #plan: Plan | undefined
  #matchingCalls = 0

  /** Makes one call fail, counted from now. */
  arm(plan: Plan): void {
    this.#plan = plan
    this.#matchingCalls = 0
  }

  /** Returns whether the planned call was made and failed. Afterwards no call fails. */
  disarm(): boolean {
    const hasFailed = this.#plan === undefined
    this.#plan = undefined
    return hasFailed
  }

  /** Uses a proxy, which keeps the overloaded types of the operations. */
  #wrapAll<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function' || name === 'writeFile') return value
        return (...args: unknown[]) => {
          if (name === 'write') args[2] = Math.min(Number(args[2]), this.writeAtMost)
          return this.#call(String(name), async () => Reflect.apply(value, target, args))
        }
      },
    })
  }

  async #call(name: string, real: () => Promise<unknown>): Promise<unknown> {
    this.calls.push(name)
    this.onCall(name)
    const fault = this.#faultOf(name)
    // A close always has its effect: the kernel closes the file even if close(2) fails.
    if (fault !== undefined && fault.fault === 'not applied' && name !== 'close') throw errno(fault.code, name)
    const result = await real()
    if (name === 'close') this.openHandles -= 1
    if (fault !== undefined) {
      if (isHandle(result)) await result.close()
      throw errno(fault.code, name)
    }
    if (!isHandle(result)) return result
    this.openHandles += 1
    return this.#wrapAll(result)
  }

  #faultOf(name: string): Plan | undefined {
    const plan = this.#plan
    if (plan?.operation !== name) return undefined
    this.#matchingCalls += 1
    if (this.#matchingCalls !== plan.nth) return undefined
    this.#plan = undefined
    return plan
  }
}

/** Whether it is the result of `open`. */
const isHandle = (value: unknown): value is FileHandle =>
  typeof value === 'object' && value !== null && 'fd' in value && 'close' in value

/** An error as the file system throws it. */
const errno = (code: string, syscall: string): Error => Object.assign(new Error(`${code}: injected`), { code, syscall })

/**
 * Runs `trial` once for each call of these operations that it makes, with that call failing before its effect and after
 * it. `trial` arms the given plan and returns whether the planned call was made (`disarm`). Returns the number of
 * injected faults.
 */
export async function failEachCall(
  operations: readonly Operation[],
  trial: (plan: Plan) => Promise<boolean>,
): Promise<number> {
  let injected = 0
  for (const operation of operations) {
    for (const fault of ['not applied', 'applied'] as const) {
      for (let nth = 1; await trial({ operation, nth, fault, code: 'EIO' }); nth += 1) injected += 1
    }
  }
  return injected
}

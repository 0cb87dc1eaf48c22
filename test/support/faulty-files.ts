import type { FileHandle } from 'node:fs/promises'
import { nodeFiles, type FileOperations } from '../../adapters/files/durable.ts'

/** `write`, `sync`, `close` and `read` are those of file handles; `stat` is both. */
export type Operation = keyof FileOperations | 'write' | 'sync' | 'close' | 'read' | 'truncate'
export type Fault = 'not applied' | 'applied'

export interface Plan {
  readonly operation: Operation
  /** Which call of it fails, counted from 1. */
  readonly nth: number
  readonly fault: Fault
  readonly code: string
}

/** Real file operations, one call of which fails: before or after its effect. */
export class FaultyFiles {
  readonly files: FileOperations = this.#wrapAll({ ...nodeFiles })
  /** Every operation so far, in the order in which they were called. */
  readonly calls: string[] = []
  /** Told of each call before it is made. */
  onCall: (name: string) => void = () => undefined
  /** A write takes no more than so many bytes at once, as write(2) may. */
  writeAtMost = Infinity
  /** Handles that are open now. */
  openHandles = 0
  #plan: Plan | undefined
  #seen = 0

  /** Counts calls from now on. */
  arm(plan: Plan): void {
    this.#plan = plan
    this.#seen = 0
  }

  /** True if the planned call came, and failed. Nothing fails any more. */
  disarm(): boolean {
    const met = this.#plan === undefined
    this.#plan = undefined
    return met
  }

  /** A proxy, because the operations are overloaded and keep their types this way. */
  #wrapAll<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (name === 'write') args[2] = Math.min(Number(args[2]), this.writeAtMost)
          return this.#call(String(name), () => Reflect.apply(value, target, args))
        }
      },
    })
  }

  async #call(name: string, real: () => Promise<unknown>): Promise<unknown> {
    this.calls.push(name)
    this.onCall(name)
    const fault = this.#faultOf(name)
    // A close that is not applied would only leak here: the kernel lets go of the file either way (close(2)).
    if (fault !== undefined && fault.fault === 'not applied' && name !== 'close') throw errno(fault.code)
    let result = await real()
    if (name === 'close') this.openHandles -= 1
    if (name === 'open') {
      if (fault === undefined) this.openHandles += 1
      else await (result as FileHandle).close()
      result = this.#wrapAll(result as FileHandle)
    }
    if (fault !== undefined) throw errno(fault.code)
    return result
  }

  #faultOf(name: string): Plan | undefined {
    const plan = this.#plan
    if (plan?.operation !== name) return undefined
    this.#seen += 1
    if (this.#seen !== plan.nth) return undefined
    this.#plan = undefined
    return plan
  }
}

/** An error as the file system throws it. */
const errno = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code })

/**
 * Runs `trial` once for every single call of these operations that it makes, failed before and after its effect: `trial`
 * arms the plan that it is given and answers whether the planned call came (`disarm`). Answers how many faults were met.
 */
export async function failEachCall(
  operations: readonly Operation[],
  trial: (plan: Plan) => Promise<boolean>,
): Promise<number> {
  let met = 0
  for (const operation of operations) {
    for (const fault of ['not applied', 'applied'] as const) {
      for (let nth = 1; await trial({ operation, nth, fault, code: 'EIO' }); nth += 1) met += 1
    }
  }
  return met
}

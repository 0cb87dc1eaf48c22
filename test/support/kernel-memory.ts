import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { compileKernel, openKernel, type Kernel } from '../../sealer/kernel/kernel.ts'
import { PAGE_BYTES, WORKSPACE_AT, SCRATCH_AT } from '../../sealer/kernel/layout.ts'

/** A kernel whose workspace is filled with random bytes, so that every unexpected write is detected. */
export class TestMemory {
  readonly kernel: Kernel
  readonly bytes: Uint8Array

  private constructor(kernel: Kernel, bytes: Uint8Array) {
    this.kernel = kernel
    this.bytes = bytes
  }

  static async create(pages: number): Promise<TestMemory> {
    const { kernel, bytes } = openKernel(await compileKernel(), pages * PAGE_BYTES - WORKSPACE_AT)
    assert.equal(bytes.length, pages * PAGE_BYTES)
    for (let at = WORKSPACE_AT; at < bytes.length; at += PAGE_BYTES)
      bytes.set(randomBytes(Math.min(PAGE_BYTES, bytes.length - at)), at)
    return new TestMemory(kernel, bytes)
  }

  /**
   * Runs `write`, and asserts that it changed nothing outside the `length` bytes at `at` and the scratch memory.
   * Returns these bytes.
   */
  writtenBy(write: () => void, at: number, length: number): Uint8Array {
    const before = this.bytes.slice()
    write()
    const unchanged = (from: number, to: number): void =>
      assert.equal(
        Buffer.compare(this.bytes.subarray(from, to), before.subarray(from, to)),
        0,
        `changed in ${from}..${to}`,
      )
    unchanged(0, SCRATCH_AT)
    unchanged(WORKSPACE_AT, at)
    unchanged(at + length, this.bytes.length)
    return this.bytes.slice(at, at + length)
  }
}

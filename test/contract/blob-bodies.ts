import assert from 'node:assert/strict'
import { concatBytes } from '../../core/bytes.ts'
import { isRegistryError, type ErrorCode } from '../../core/errors.ts'
import type { BlobBody, BlobStore } from '../../core/ports.ts'

/** Bodies that tests put, and how they read them back. */

/** The bytes in pieces of so many; the last may be shorter. */
export async function* inChunks(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

/** The chunks, then whatever `then` does. */
export async function* afterChunks(
  chunks: readonly Uint8Array[],
  then: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  yield* chunks
  await then()
}

/** Gives each chunk in the same buffer, as a source that saves allocations may. */
export async function* throughOneBuffer(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.alloc(Math.max(1, ...chunks.map((chunk) => chunk.length)))
  for (const chunk of chunks) {
    buffer.set(chunk)
    yield buffer.subarray(0, chunk.length)
    buffer.fill(0xee)
  }
}

/** Resolves for all when the last of `count` has come. */
export function meetingOf(count: number): () => Promise<void> {
  let open: () => void
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  let arrived = 0
  return () => {
    arrived += 1
    if (arrived === count) open()
    return opened
  }
}

/** A body that ends only when those of all racers do, so that none is refused before it has written. */
export async function* afterMeeting(meet: () => Promise<void>, bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
  await meet()
}

/** What is under the key; fails the test where nothing is. */
export async function mustGet(store: BlobStore, key: string): Promise<BlobBody> {
  const found = await store.get(key)
  assert.ok(found, `nothing under ${key}`)
  return found
}

/** The whole body. */
export async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return concatBytes(...chunks)
}

/** Without printing megabytes where it fails. */
export function assertSame(got: Uint8Array, want: Uint8Array): void {
  assert.equal(got.length, want.length)
  assert.ok(Buffer.compare(got, want) === 0, 'the bytes differ')
}

/** A RegistryError of this code. */
export function assertCode(code: ErrorCode, error: unknown): void {
  assert.ok(isRegistryError(error, code), `want ${code}, got ${String(error)}`)
}

/** Rejects with a RegistryError of this code. */
export async function rejectsWith(code: ErrorCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error) => {
    assertCode(code, error)
    return true
  })
}

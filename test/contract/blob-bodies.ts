import assert from 'node:assert/strict'
import { isRegistryError, type BlobBody, type BlobStore, type ErrorCode } from '../../adapters/kit/index.ts'
import { arrayBuffer } from 'node:stream/consumers'

export const KIB = 1024
export const MIB = 1024 * KIB
/** A limit that the bodies of the tests do not reach. */
export const AMPLE = { maxBytes: 64 * MIB }

/** Yields the bytes in chunks of `chunkBytes`; the last may be shorter. */
export async function* inChunks(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

/** Yields the chunks, then awaits `then`. */
export async function* afterChunks(
  chunks: readonly Uint8Array[],
  then: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  yield* chunks
  await then()
}

/** Yields each chunk in the same buffer, as a producer that avoids allocations may. */
export async function* throughOneBuffer(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.alloc(Math.max(1, ...chunks.map((chunk) => chunk.length)))
  for (const chunk of chunks) {
    buffer.set(chunk)
    yield buffer.subarray(0, chunk.length)
    buffer.fill(0xee)
  }
}

/** Returns the blob; fails the test if it does not exist. */
export async function mustGet(store: BlobStore, key: string): Promise<BlobBody> {
  const blob = await store.get(key)
  assert.ok(blob, `there is no blob ${key}`)
  return blob
}

/** Reads the whole body. */
export const collect = async (body: AsyncIterable<Uint8Array>): Promise<Uint8Array> =>
  new Uint8Array(await arrayBuffer(body))

/** Asserts that the bytes are equal, without printing megabytes if they are not. */
export function assertSame(actual: Uint8Array, expected: Uint8Array): void {
  assert.equal(actual.length, expected.length)
  assert.ok(Buffer.compare(actual, expected) === 0, 'the bytes differ')
}

/** Asserts that it is a RegistryError with this code. */
export function assertCode(code: ErrorCode, error: unknown): void {
  assert.ok(isRegistryError(error, code), `expected ${code}, got ${String(error)}`)
}

/** Asserts that the work rejects with a RegistryError with this code. */
export const rejectsWith = (
  code: ErrorCode,
  work: Promise<unknown> | (() => Promise<unknown>),
  what?: string,
): Promise<void> => assert.rejects(work, { name: 'RegistryError', code }, what)

/** Puts the bytes of a blob, or of a text, in chunks of 64 KiB. */
export const putBlob = (store: BlobStore, key: string, content: Uint8Array | string) =>
  store.put(key, inChunks(Buffer.from(content), 64 * KIB), AMPLE)

/** Asserts that the blob has these bytes, or this text. */
export async function assertBlob(store: BlobStore, key: string, content: Uint8Array | string): Promise<void> {
  assertSame(await collect((await mustGet(store, key)).body), Buffer.from(content))
}

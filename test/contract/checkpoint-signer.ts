import assert from 'node:assert/strict'
import { createPublicKey, randomBytes, verify } from 'node:crypto'
import { describe } from 'node:test'
import { isRegistryError, type CheckpointSigner } from '../../adapters/kit/index.ts'
import { notOffered, testsOf } from './rules.ts'

/** A signer under test. It has one key or more. */
export interface CheckpointSignerUnderTest {
  readonly signer: CheckpointSigner
  /** Adds a key where the signer has its keys, as an operator does before a rotation. */
  readonly addKey?: () => Promise<void>
  /**
   * Until the test ends, the service that has the keys fails each request, or responds to none. Without one: the keys
   * are in the process.
   */
  readonly interrupt?: (how: 'unavailable' | 'slow') => Promise<void>
  /** Called last. */
  readonly dispose?: () => Promise<void>
}

/**
 * Registers node:test tests for everything that a `CheckpointSigner` must do.
 *
 * @param name appears in the names of the tests
 * @param open returns a new signer; it is called once per test
 * @example
 * ```ts
 * import { MemoryCheckpointKeys } from 'evidence-registry/adapters/memory'
 * import { checkpointSignerContract } from 'evidence-registry/adapter-kit/contract'
 *
 * checkpointSignerContract('memory', async () => ({ signer: new MemoryCheckpointKeys() }))
 * ```
 */
export function checkpointSignerContract(name: string, open: () => Promise<CheckpointSignerUnderTest>): void {
  const test = testsOf(open, 'signer', async ({ dispose }) => dispose?.())

  describe(`CheckpointSigner contract: ${name}`, () => {
    test('signs with each of its keys, also side by side', async ({ signer }) => {
      const keys = await signer.publicKeys()
      assert.ok(keys.length > 0)
      await Promise.all(keys.flatMap((key) => [1, 200, 1_000].map((length) => assertSigns(signer, key, length))))
    })

    test('throws LOG_KEY_MISMATCH for a key that it does not have', async ({ signer }) => {
      const other = new Uint8Array(randomBytes(33)).fill(1, 0, 1)
      await assert.rejects(signer.sign(other, new Uint8Array(300)), { code: 'LOG_KEY_MISMATCH' })
    })

    test('finds a key that was added, after the others, and signs with all', async ({ signer, addKey }, t) => {
      if (addKey === undefined) return notOffered(t, '`open` returned no `addKey`')
      const before = await signer.publicKeys()
      await addKey()
      const keys = await signer.publicKeys()
      assert.deepEqual(keys.slice(0, -1), before)
      for (const key of keys) await assertSigns(signer, key, 300)
    })

    for (const how of ['unavailable', 'slow'] as const)
      test(`fails within a bounded time if the service is ${how}`, async ({ signer, interrupt }, t) => {
        if (interrupt === undefined) return notOffered(t, '`open` returned no `interrupt`')
        const [key = new Uint8Array()] = await signer.publicKeys()
        await interrupt(how)
        const signing = signer.sign(key, new Uint8Array(300))
        // Otherwise the registry would take the key for lost.
        await assert.rejects(signing, (error) => !isRegistryError(error, 'LOG_KEY_MISMATCH'))
      })
  })
}

/** The type byte 1 and the 32 bytes of an Ed25519 key, whose signature of random bytes node:crypto verifies. */
async function assertSigns(signer: CheckpointSigner, typedKey: Uint8Array, length: number): Promise<void> {
  assert.deepEqual([typedKey.length, typedKey[0]], [33, 1])
  // The DER of an Ed25519 public key (RFC 8410) before its 32 bytes.
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), typedKey.subarray(1)])
  const bytes = new Uint8Array(randomBytes(length))
  const signature = await signer.sign(typedKey, bytes)
  assert.ok(verify(null, bytes, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature))
}

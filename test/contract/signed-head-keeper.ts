import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import type { SignedHead, SignedHeadKeeper } from '../../core/ports.ts'

export interface SignedHeadKeeperUnderTest {
  /** Nothing written yet. */
  readonly keeper: SignedHeadKeeper
  /** A second keeper of the same head; for those that outlive their process. */
  readonly reopen?: () => Promise<SignedHeadKeeper>
  readonly dispose?: () => Promise<void>
}

/** What every SignedHeadKeeper must do, as node:test tests. `open` gives a new one each time it is called. */
export function signedHeadKeeperContract(name: string, open: () => Promise<SignedHeadKeeperUnderTest>): void {
  const withKeeper = async (run: (subject: SignedHeadKeeperUnderTest) => Promise<void>): Promise<void> => {
    const subject = await open()
    try {
      await run(subject)
    } finally {
      await subject.dispose?.()
    }
  }

  describe(`SignedHeadKeeper contract: ${name}`, () => {
    test('knows nothing before the first write', () =>
      withKeeper(async ({ keeper }) => assert.equal(await keeper.read(), undefined)))

    test('gives back the head last written, also to a keeper opened again', () =>
      withKeeper(async ({ keeper, reopen }) => {
        for (const size of [0, 1, 255, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, 7]) {
          const head = headOf(size)
          await keeper.write(head)
          assert.deepEqual(await keeper.read(), head)
          if (reopen) assert.deepEqual(await (await reopen()).read(), head)
        }
      }))

    test('keeps what it was given, not the buffer it was given in', () =>
      withKeeper(async ({ keeper }) => {
        const root = randomBytes(32)
        const want = new Uint8Array(root)
        await keeper.write({ size: 3, root })
        root.fill(0)
        const got = await keeper.read()
        assert.deepEqual(got, { size: 3, root: want })
        got?.root.fill(1)
        assert.deepEqual(await keeper.read(), { size: 3, root: want })
      }))

    test('of writes that overlap, the last one asked for stays', () =>
      withKeeper(async ({ keeper }) => {
        const heads = Array.from({ length: 20 }, (_, size) => headOf(size))
        await Promise.all(heads.map((head) => keeper.write(head)))
        assert.deepEqual(await keeper.read(), heads.at(-1))
      }))
  })
}

const headOf = (size: number): SignedHead => ({ size, root: new Uint8Array(randomBytes(32)) })

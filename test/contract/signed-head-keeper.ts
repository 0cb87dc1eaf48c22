import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe } from 'node:test'
import type { SignedHead, SignedHeadKeeper } from '../../adapters/kit/index.ts'
import { notOffered, testsOf } from './rules.ts'

/** The keeper under test. */
export interface SignedHeadKeeperUnderTest {
  /** A keeper to which nothing was written yet. */
  readonly keeper: SignedHeadKeeper
  /** Opens a second keeper of the same head, if it is kept outside the process. */
  readonly reopen?: () => Promise<SignedHeadKeeper>
  /** Called last. */
  readonly dispose?: () => Promise<void>
}

/**
 * Tests with node:test everything that the port `SignedHeadKeeper` promises.
 *
 * @param name name of the adapter, for the output
 * @param open returns a new keeper; it is called once per test
 * @example
 * ```ts
 * import { signedHeadKeeperContract } from 'evidence-registry/adapter-kit/contract'
 *
 * signedHeadKeeperContract('mine', async () => ({ keeper: new MyKeeper() }))
 * ```
 */
export function signedHeadKeeperContract(name: string, open: () => Promise<SignedHeadKeeperUnderTest>): void {
  const test = testsOf(open, 'keeper', async ({ dispose }) => dispose?.())

  describe(`SignedHeadKeeper contract: ${name}`, () => {
    test('returns undefined before the first write', async ({ keeper }) => assert.equal(await keeper.read(), undefined))

    test('returns the head that was written last', async ({ keeper }) => {
      for (const head of [
        ...SIZES.map(headOf),
        { ...headOf(5), erasures: 7 },
        { ...headOf(6), erasures: 0 },
        headOf(7),
      ]) {
        await keeper.write(head)
        assert.deepEqual(await keeper.read(), head)
      }
    })

    test('returns the head that was written last also from a second keeper', async ({ keeper, reopen }, t) => {
      if (reopen === undefined) return notOffered(t, '`open` returned no `reopen`')
      for (const size of SIZES) {
        const head = headOf(size)
        await keeper.write(head)
        assert.deepEqual(await (await reopen()).read(), head)
      }
    })

    test('copies the root, so that callers may change their bytes', async ({ keeper }) => {
      const root = randomBytes(32)
      const expected = new Uint8Array(root)
      await keeper.write({ size: 3, root })
      root.fill(0)
      const head = await keeper.read()
      assert.deepEqual(head, { size: 3, root: expected })
      head?.root.fill(1)
      assert.deepEqual(await keeper.read(), { size: 3, root: expected })
    })

    test('keeps the head of the last call if writes overlap', async ({ keeper }) => {
      const heads = Array.from({ length: 20 }, (_, size) => headOf(size))
      await Promise.all(heads.map((head) => keeper.write(head)))
      assert.deepEqual(await keeper.read(), heads.at(-1))
    })
  })
}

const SIZES = [0, 1, 255, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, 7]

const headOf = (size: number): SignedHead => ({ size, root: new Uint8Array(randomBytes(32)) })

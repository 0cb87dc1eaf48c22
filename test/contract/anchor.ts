import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe } from 'node:test'
import {
  isRegistryError,
  type Anchor,
  type AnchorStatus,
  type BlockInclusion,
  type PreparedAnchor,
} from '../../adapters/kit/index.ts'
import { assertClosed, testsOf, type TestOf } from './rules.ts'

/** An anchor under test and what the suite needs to control. */
export interface AnchorUnderTest {
  readonly anchor: Anchor
  /** Makes the chain produce a block (or lets the time of a block pass), so that confirmations grow. */
  readonly mine: () => Promise<void>
  /** Closes `anchor` and opens another one on the same state, as after a restart of the process. */
  readonly reopen: () => Promise<Anchor>
  /** Closes the anchor that is open, and removes what `open` created. */
  readonly dispose: () => Promise<void>
}

/** An anchor under test must confirm within this many blocks. */
const MAX_BLOCKS = 100

type Confirmed = Extract<AnchorStatus, { state: 'confirmed' }>

/**
 * Registers node:test tests for everything that an `Anchor` must do.
 *
 * @param name appears in the names of the tests
 * @param open opens an anchor on fresh state; the suite calls it for each test and then `dispose`
 * @example
 * anchorContract('mine', async () => {
 *   const chain = await startTestChain()
 *   let anchor = await openMyAnchor(chain)
 *   return {
 *     anchor,
 *     mine: () => chain.mine(),
 *     reopen: async () => {
 *       await anchor.close()
 *       return (anchor = await openMyAnchor(chain))
 *     },
 *     dispose: async () => {
 *       await anchor.close()
 *       await chain.stop()
 *     },
 *   }
 * })
 */
export function anchorContract(name: string, open: () => Promise<AnchorUnderTest>): void {
  const test = testsOf(open, 'anchor', ({ dispose }) => dispose())

  describe(`Anchor contract: ${name}`, () => {
    testStatuses(test)
    testTransactions(test)
    testRestarts(test)
    testAccount(test)
    testAbortAndClose(test)
  })
}

/** Tests of the description, and of the statuses of a transaction: unknown before its broadcast, later confirmed. */
function testStatuses(test: TestOf<AnchorUnderTest>): void {
  test('describes itself', async ({ anchor }) => {
    assert.match(anchor.info.type, /^[a-z0-9-]+$/)
    assert.notEqual(anchor.info.network, '')
    assert.ok(Number.isSafeInteger(anchor.info.chainId) && anchor.info.chainId >= 0)
    assert.ok(['operator', 'independent'].includes(anchor.info.assurance))
  })

  test('reports a prepared transaction that was not broadcast as unknown', async ({ anchor, mine }) => {
    const unsent = await prepare(anchor)
    for (let block = 0; block < 5; block += 1) await mine()
    assert.deepEqual(await anchor.status([unsent]), [{ state: 'unknown' }])
  })

  test('reports a ref that does not exist as unknown', async ({ anchor }) => {
    const { ref, raw } = await prepare(anchor)
    const other = ref.slice(0, -1) + (ref.endsWith('0') ? '1' : '0')
    assert.deepEqual(await anchor.status([{ ref: other, raw }]), [{ state: 'unknown' }])
  })

  test('includes a broadcast transaction in a block and confirms it, with confirmations that never decrease', async ({
    anchor,
    mine,
  }) => {
    const sent = await send(anchor)
    const last = await untilConfirmed(anchor, mine, sent)
    assert.ok(last.proof.length > 0)
    await mine()
    assert.ok((await confirmedAgain(anchor, sent, last)).confirmations > last.confirmations)
  })

  test('returns one status per ref, in order, also for duplicates', async ({ anchor, mine }) => {
    const sent = await send(anchor)
    const unsent = await prepare(anchor)
    await untilConfirmed(anchor, mine, sent)
    const states = (await anchor.status([unsent, sent, unsent, sent])).map(({ state }) => state)
    assert.deepEqual(states, ['unknown', 'confirmed', 'unknown', 'confirmed'])
    assert.deepEqual(await anchor.status([]), [])
  })
}

/** Tests of broadcasts: of the same bytes, of a new transaction, and of a replacement. */
function testTransactions(test: TestOf<AnchorUnderTest>): void {
  test('accepts the same bytes any number of times, and includes them in one block', async ({ anchor, mine }) => {
    const prepared = await prepare(anchor)
    const { raw } = prepared
    await Promise.all([anchor.broadcast(raw), anchor.broadcast(raw.slice()), anchor.broadcast(raw)])
    const last = await untilConfirmed(anchor, mine, prepared)
    await anchor.broadcast(raw)
    await mine()
    await confirmedAgain(anchor, prepared, last)
  })

  test('prepares a different transaction each time, also for the same checkpoint', async ({ anchor, mine }) => {
    const bytes = checkpoint()
    const first = await send(anchor, bytes)
    await untilConfirmed(anchor, mine, first)
    const second = await send(anchor, bytes)
    assert.notEqual(second.ref, first.ref)
    await untilConfirmed(anchor, mine, second)
  })

  test('includes later transactions in later blocks', async ({ anchor, mine }) => {
    let earlier: BlockInclusion | undefined
    for (let round = 0; round < 3; round += 1) {
      const inclusion = await untilConfirmed(anchor, mine, await send(anchor))
      assert.ok(earlier === undefined || inclusion.blockNumber > earlier.blockNumber)
      assert.ok(earlier === undefined || inclusion.blockTime >= earlier.blockTime)
      earlier = inclusion
    }
  })

  test('accepts a replacement for stuck transactions, and confirms at least one of them', async ({ anchor, mine }) => {
    const bytes = checkpoint()
    const first = await send(anchor, bytes)
    const second = await anchor.prepare({ checkpoint: bytes, replaces: [first] })
    assert.notEqual(second.ref, first.ref)
    // If the first was mined in the meantime, the chain may reject the second.
    await anchor.broadcast(second.raw).catch((error: unknown) => assert.ok(isRegistryError(error, 'ANCHOR_FAILED')))
    const isConfirmed = async (): Promise<boolean> =>
      (await anchor.status([first, second])).some(({ state }) => state === 'confirmed')
    for (let block = 0; block < MAX_BLOCKS && !(await isConfirmed()); block += 1) await mine()
    assert.ok(await isConfirmed())
  })
}

/** Tests of what a restart of the process must not lose. */
function testRestarts(test: TestOf<AnchorUnderTest>): void {
  test('broadcasts stored bytes after a crash between prepare and broadcast', async ({ anchor, mine, reopen }) => {
    const stored = await prepare(anchor)
    const reopened = await reopen()
    assert.deepEqual(await reopened.status([stored]), [{ state: 'unknown' }])
    await reopened.broadcast(stored.raw)
    await untilConfirmed(reopened, mine, stored)
  })

  test('reports earlier confirmations after a restart, and accepts their bytes again', async ({
    anchor,
    mine,
    reopen,
  }) => {
    const sent = await send(anchor)
    const last = await untilConfirmed(anchor, mine, sent)
    const reopened = await reopen()
    await reopened.broadcast(sent.raw)
    const again = await confirmedAgain(reopened, sent, last)
    assert.ok(again.confirmations >= last.confirmations)
    assert.deepEqual(again.proof, last.proof)
  })
}

/** Tests of several transactions of one account, also with gaps, and of foreign use of the account. */
function testAccount(test: TestOf<AnchorUnderTest>): void {
  test('confirms several transactions that are broadcast before the first is in a block', async ({ anchor, mine }) => {
    const sent: PreparedAnchor[] = []
    for (let i = 0; i < 8; i += 1) sent.push(await send(anchor))
    assert.equal(new Set(sent.map(({ ref }) => ref)).size, 8)
    for (const each of sent) await untilConfirmed(anchor, mine, each)
  })

  test('continues after transactions that were prepared and never broadcast', async ({ anchor, mine }) => {
    for (let i = 0; i < 3; i += 1) await prepare(anchor)
    await untilConfirmed(anchor, mine, await send(anchor))
  })

  test('finds no foreign use of the account among its own transactions', async ({ anchor, mine, reopen }) => {
    const sent = [await send(anchor), await send(anchor)]
    for (const each of sent) await untilConfirmed(anchor, mine, each)
    const unsent = await prepare(anchor)
    const reopened = await reopen()
    assert.equal(await reopened.findForeignUse(listOf([...sent, unsent]), 0), undefined)
    assert.equal(await reopened.findForeignUse(listOf([]), 0), undefined)
  })
}

/** Tests of aborted calls, and calls after close. */
function testAbortAndClose(test: TestOf<AnchorUnderTest>): void {
  test('rejects with the reason of an aborted signal, without any effect', async ({ anchor, mine }) => {
    const prepared = await prepare(anchor)
    const reason = new Error('stop')
    const signal = AbortSignal.abort(reason)
    const isReason = (error: unknown): boolean => error === reason
    await assert.rejects(anchor.prepare({ checkpoint: checkpoint() }, signal), isReason)
    await assert.rejects(anchor.broadcast(prepared.raw, signal), isReason)
    await assert.rejects(anchor.status([prepared], signal), isReason)
    await mine()
    assert.deepEqual(await anchor.status([prepared]), [{ state: 'unknown' }])
  })

  test('throws CLOSED after close, and may be closed twice', async ({ anchor }) => {
    const prepared = await prepare(anchor)
    await anchor.close()
    await assertClosed(anchor, {
      prepare: () => prepare(anchor),
      broadcast: () => anchor.broadcast(prepared.raw),
      status: () => anchor.status([prepared]),
      findForeignUse: () => anchor.findForeignUse(listOf([prepared]), 0),
    })
  })
}

async function* listOf<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values
}

/** Random bytes of the length of a signed note. */
const checkpoint = (): Uint8Array => new Uint8Array(randomBytes(300))

const prepare = (anchor: Anchor): Promise<PreparedAnchor> => anchor.prepare({ checkpoint: checkpoint() })

/** Prepares and broadcasts a transaction. */
async function send(anchor: Anchor, bytes = checkpoint()): Promise<PreparedAnchor> {
  const prepared = await anchor.prepare({ checkpoint: bytes })
  await anchor.broadcast(prepared.raw)
  return prepared
}

/** Returns the block of a status, without its confirmations. */
const blockOf = ({ blockNumber, blockHash, blockTime }: BlockInclusion) => ({ blockNumber, blockHash, blockTime })

/** Mines until the transaction is confirmed. Checks each status against the one before it, and returns the last one. */
async function untilConfirmed(anchor: Anchor, mine: () => Promise<void>, sent: PreparedAnchor): Promise<Confirmed> {
  let before: AnchorStatus | undefined
  for (let block = 0; block < MAX_BLOCKS; block += 1) {
    const [status] = await anchor.status([sent])
    assert.ok(status)
    assertFollows(before, status)
    if (status.state === 'confirmed') return status
    before = status
    await mine()
  }
  return assert.fail(`Not confirmed after ${MAX_BLOCKS} blocks: the state is ${before?.state}`)
}

/** Returns the status of a transaction that is confirmed in the same block as before. */
async function confirmedAgain(anchor: Anchor, sent: PreparedAnchor, before: Confirmed): Promise<Confirmed> {
  const [status] = await anchor.status([sent])
  assert.ok(status?.state === 'confirmed')
  assert.deepEqual(blockOf(status), blockOf(before))
  return status
}

/** Asserts that the status of a broadcast transaction may follow the one before it. */
function assertFollows(before: AnchorStatus | undefined, status: AnchorStatus): void {
  if (status.state !== 'included' && status.state !== 'confirmed') {
    assert.equal(status.state, 'pending', 'a broadcast transaction is pending or in a block')
    assert.ok(before === undefined || before.state === 'pending', 'a transaction in a block stays there')
    return
  }
  assert.ok(Number.isSafeInteger(status.blockNumber) && status.blockNumber >= 0)
  assert.match(status.blockHash, /^(0x)?[0-9a-f]{64}$/)
  assert.ok(Number.isSafeInteger(status.blockTime) && status.blockTime > 0)
  assert.ok(Number.isSafeInteger(status.confirmations) && status.confirmations >= 1)
  if (before?.state !== 'included') return
  assert.deepEqual(blockOf(status), blockOf(before))
  assert.ok(status.confirmations >= before.confirmations)
}

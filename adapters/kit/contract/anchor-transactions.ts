import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Anchor, AnchorStatus, BlockInclusion, PreparedAnchor } from '../index.ts'

/** Sends transactions and follows their statuses, for the tests of anchors. */

/** An anchor under test must confirm within this many blocks. */
export const MAX_BLOCKS = 100

/** Random bytes of the length of a signed note. */
export const checkpoint = (): Uint8Array => new Uint8Array(randomBytes(300))

/** Prepares and broadcasts a transaction. */
export async function send(anchor: Anchor, bytes = checkpoint()): Promise<PreparedAnchor> {
  const prepared = await anchor.prepare({ checkpoint: bytes })
  await anchor.broadcast(prepared.raw)
  return prepared
}

/** Returns the block of a status, without its confirmations. */
export function blockOf({ blockNumber, blockHash, blockTime }: BlockInclusion): Omit<BlockInclusion, 'confirmations'> {
  return { blockNumber, blockHash, blockTime }
}

/** Mines until the transaction is confirmed. Returns all statuses, each checked against the one before it. */
export async function untilConfirmed(
  anchor: Anchor,
  mine: () => Promise<void>,
  transaction: PreparedAnchor,
): Promise<readonly AnchorStatus[]> {
  const statuses: AnchorStatus[] = []
  for (let block = 0; block < MAX_BLOCKS; block += 1) {
    const [status] = await anchor.status([transaction])
    assert.ok(status)
    assertFollows(statuses.at(-1), status)
    statuses.push(status)
    if (status.state === 'confirmed') return statuses
    await mine()
  }
  return assert.fail(`Not confirmed after ${MAX_BLOCKS} blocks: the state is ${statuses.at(-1)?.state}`)
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

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { isRegistryError } from '../../core/errors.ts'
import type { Anchor, BlockInclusion, AnchorStatus, PreparedAnchor } from '../../core/ports.ts'

export interface AnchorUnderTest {
  readonly anchor: Anchor
  /** Lets the chain make a block (or lets the time of one pass), so that confirmations grow. */
  readonly mine: () => Promise<void>
  /** Closes `anchor` and opens another on the same state. Every chain can: its state is outside the process. */
  readonly reopen: () => Promise<Anchor>
  /** Closes whichever is open, and removes what was made. */
  readonly dispose: () => Promise<void>
}

/** The most blocks that an anchor under test may need for a confirmation. */
const MAX_BLOCKS = 100

/** What every Anchor must do, as node:test tests. `open` gives a new one each time it is called. */
export function anchorContract(name: string, open: () => Promise<AnchorUnderTest>): void {
  const withAnchor = async (run: (subject: AnchorUnderTest) => Promise<void>): Promise<void> => {
    const subject = await open()
    try {
      await run(subject)
    } finally {
      await subject.dispose()
    }
  }

  describe(`Anchor contract: ${name}`, () => {
    test('says what it is', () =>
      withAnchor(async ({ anchor }) => {
        assert.match(anchor.info.type, /^[a-z0-9-]+$/)
        assert.notEqual(anchor.info.network, '')
        assert.ok(Number.isSafeInteger(anchor.info.chainId) && anchor.info.chainId >= 0)
        assert.ok(['operator', 'independent'].includes(anchor.info.assurance))
      }))

    test('knows nothing of what was prepared and not broadcast', () =>
      withAnchor(async ({ anchor, mine }) => {
        const unsent = await anchor.prepare({ checkpoint: checkpoint() })
        for (let block = 0; block < 5; block += 1) await mine()
        assert.deepEqual(await anchor.status([unsent]), [{ state: 'unknown' }])
      }))

    test('knows nothing of a ref that never was', () =>
      withAnchor(async ({ anchor }) => {
        const { ref, raw } = await anchor.prepare({ checkpoint: checkpoint() })
        const other = ref.slice(0, -1) + (ref.endsWith('0') ? '1' : '0')
        assert.deepEqual(await anchor.status([{ ref: other, raw }]), [{ state: 'unknown' }])
      }))

    test('brings what was broadcast into a block and confirms it, confirmations never falling', () =>
      withAnchor(async ({ anchor, mine }) => {
        const sent = await send(anchor)
        const seen = await untilConfirmed(anchor, mine, sent)
        const last = seen.at(-1)
        assert.ok(last?.state === 'confirmed')
        assert.ok(last.proof.length > 0)
        await mine()
        const [later] = await anchor.status([sent])
        assert.ok(later?.state === 'confirmed')
        assert.ok(later.confirmations > last.confirmations)
        assert.deepEqual(placeOf(later), placeOf(last))
      }))

    test('answers one status per ref, in order, also for one that is asked twice', () =>
      withAnchor(async ({ anchor, mine }) => {
        const sent = await send(anchor)
        const unsent = await anchor.prepare({ checkpoint: checkpoint() })
        await untilConfirmed(anchor, mine, sent)
        const states = (await anchor.status([unsent, sent, unsent, sent])).map(({ state }) => state)
        assert.deepEqual(states, ['unknown', 'confirmed', 'unknown', 'confirmed'])
        assert.deepEqual(await anchor.status([]), [])
      }))

    test('takes the same bytes any number of times, at once and later, and puts them in one block', () =>
      withAnchor(async ({ anchor, mine }) => {
        const prepared = await anchor.prepare({ checkpoint: checkpoint() })
        const { raw } = prepared
        await Promise.all([anchor.broadcast(raw), anchor.broadcast(raw.slice()), anchor.broadcast(raw)])
        const last = (await untilConfirmed(anchor, mine, prepared)).at(-1)
        await anchor.broadcast(raw)
        await mine()
        const [again] = await anchor.status([prepared])
        assert.ok(last?.state === 'confirmed' && again?.state === 'confirmed')
        assert.deepEqual(placeOf(again), placeOf(last))
      }))

    test('prepares another transaction each time, also for the same checkpoint', () =>
      withAnchor(async ({ anchor, mine }) => {
        const bytes = checkpoint()
        const first = await send(anchor, bytes)
        await untilConfirmed(anchor, mine, first)
        const second = await send(anchor, bytes)
        assert.notEqual(second.ref, first.ref)
        await untilConfirmed(anchor, mine, second)
      }))

    test('gives places that follow one another', () =>
      withAnchor(async ({ anchor, mine }) => {
        let before: BlockInclusion | undefined
        for (let round = 0; round < 3; round += 1) {
          const place = (await untilConfirmed(anchor, mine, await send(anchor))).at(-1)
          assert.ok(place?.state === 'confirmed')
          assert.ok(before === undefined || place.blockNumber > before.blockNumber)
          assert.ok(before === undefined || place.blockTime >= before.blockTime)
          before = place
        }
      }))

    test('takes a replacement for transactions that are stuck, and at least one of them is confirmed', () =>
      withAnchor(async ({ anchor, mine }) => {
        const bytes = checkpoint()
        const first = await send(anchor, bytes)
        const second = await anchor.prepare({ checkpoint: bytes, replaces: [first] })
        assert.notEqual(second.ref, first.ref)
        // Where the first was mined meanwhile a chain may refuse the second, for ever: its status tells.
        await anchor.broadcast(second.raw).catch((error: unknown) => assert.ok(isRegistryError(error, 'ANCHOR_FAILED')))
        const isConfirmed = async (): Promise<boolean> =>
          (await anchor.status([first, second])).some(({ state }) => state === 'confirmed')
        for (let block = 0; block < MAX_BLOCKS && !(await isConfirmed()); block += 1) await mine()
        assert.ok(await isConfirmed())
      }))

    test('sends stored bytes after a crash between prepare and broadcast', () =>
      withAnchor(async ({ anchor, mine, reopen }) => {
        const { ref, raw } = await anchor.prepare({ checkpoint: checkpoint() })
        const stored = { ref, raw: raw.slice() }
        const reopened = await reopen()
        assert.deepEqual(await reopened.status([stored]), [{ state: 'unknown' }])
        await reopened.broadcast(stored.raw)
        await untilConfirmed(reopened, mine, stored)
      }))

    test('knows after a restart what was confirmed before, and takes its bytes again', () =>
      withAnchor(async ({ anchor, mine, reopen }) => {
        const sent = await send(anchor)
        const last = (await untilConfirmed(anchor, mine, sent)).at(-1)
        const reopened = await reopen()
        await reopened.broadcast(sent.raw)
        const [again] = await reopened.status([sent])
        assert.ok(last?.state === 'confirmed' && again?.state === 'confirmed')
        assert.deepEqual(placeOf(again), placeOf(last))
        assert.ok(again.confirmations >= last.confirmations)
        assert.deepEqual(again.proof, last.proof)
      }))

    test('confirms many that are broadcast before the first is in a block', () =>
      withAnchor(async ({ anchor, mine }) => {
        const sent: PreparedAnchor[] = []
        for (let i = 0; i < 8; i += 1) sent.push(await send(anchor))
        assert.equal(new Set(sent.map(({ ref }) => ref)).size, 8)
        for (const each of sent) await untilConfirmed(anchor, mine, each)
      }))

    test('goes on after one that was prepared and never sent', () =>
      withAnchor(async ({ anchor, mine }) => {
        for (let i = 0; i < 3; i += 1) await anchor.prepare({ checkpoint: checkpoint() })
        await untilConfirmed(anchor, mine, await send(anchor))
      }))

    test('does nothing for a signal that is aborted, and rejects with its reason', () =>
      withAnchor(async ({ anchor, mine }) => {
        const prepared = await anchor.prepare({ checkpoint: checkpoint() })
        const reason = new Error('stop')
        const signal = AbortSignal.abort(reason)
        const isReason = (error: unknown): boolean => error === reason
        await assert.rejects(anchor.prepare({ checkpoint: checkpoint() }, signal), isReason)
        await assert.rejects(anchor.broadcast(prepared.raw, signal), isReason)
        await assert.rejects(anchor.status([prepared], signal), isReason)
        await mine()
        assert.deepEqual(await anchor.status([prepared]), [{ state: 'unknown' }])
      }))

    test('throws CLOSED after close, and may be closed twice', () =>
      withAnchor(async ({ anchor }) => {
        const prepared = await anchor.prepare({ checkpoint: checkpoint() })
        await anchor.close()
        await anchor.close()
        await assert.rejects(anchor.prepare({ checkpoint: checkpoint() }), { code: 'CLOSED' })
        await assert.rejects(anchor.broadcast(prepared.raw), { code: 'CLOSED' })
        await assert.rejects(anchor.status([prepared]), { code: 'CLOSED' })
      }))
  })
}

/** As long as a signed note is; different each time. */
const checkpoint = (): Uint8Array => new Uint8Array(randomBytes(300))

async function send(anchor: Anchor, bytes = checkpoint()): Promise<PreparedAnchor> {
  const prepared = await anchor.prepare({ checkpoint: bytes })
  await anchor.broadcast(prepared.raw)
  return prepared
}

const placeOf = ({ blockNumber, blockHash, blockTime }: BlockInclusion): Omit<BlockInclusion, 'confirmations'> => ({
  blockNumber,
  blockHash,
  blockTime,
})

/** Mines until the transaction is confirmed; the statuses met on the way, each checked against the one before. */
async function untilConfirmed(
  anchor: Anchor,
  mine: () => Promise<void>,
  transaction: PreparedAnchor,
): Promise<readonly AnchorStatus[]> {
  const seen: AnchorStatus[] = []
  for (let block = 0; block < MAX_BLOCKS; block += 1) {
    const [status] = await anchor.status([transaction])
    assert.ok(status)
    checkStep(seen.at(-1), status)
    seen.push(status)
    if (status.state === 'confirmed') return seen
    await mine()
  }
  return assert.fail(`Not confirmed after ${MAX_BLOCKS} blocks, but ${seen.at(-1)?.state}`)
}

function checkStep(before: AnchorStatus | undefined, status: AnchorStatus): void {
  if (status.state !== 'included' && status.state !== 'confirmed') {
    assert.equal(status.state, 'pending', 'what was broadcast is pending or in a block')
    assert.ok(before === undefined || before.state === 'pending', 'what was in a block stays there')
    return
  }
  assert.ok(Number.isSafeInteger(status.blockNumber) && status.blockNumber >= 0)
  assert.match(status.blockHash, /^(0x)?[0-9a-f]{64}$/)
  assert.ok(Number.isSafeInteger(status.blockTime) && status.blockTime > 0)
  assert.ok(Number.isSafeInteger(status.confirmations) && status.confirmations >= 1)
  if (before?.state !== 'included') return
  assert.deepEqual(placeOf(status), placeOf(before))
  assert.ok(status.confirmations >= before.confirmations)
}

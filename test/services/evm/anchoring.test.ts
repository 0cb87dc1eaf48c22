import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Transaction } from 'ethers/transaction'
import { openEvmAnchor } from '../../../adapters/evm/index.ts'
import { encodeUtf8 } from '../../../core/bytes.ts'
import type { AnchorRecord } from '../../../core/log/records.ts'
import type { PreparedAnchor } from '../../../core/ports/index.ts'
import { Anvil, CHAIN_ID, GWEI, withoutAnvil } from '../../support/anvil.ts'
import { CAP, EvmFixture, REPLACE_AFTER_MS } from '../../support/evm-fixture.ts'
import { present } from '../../support/present.ts'
import { temporaryFor } from '../../support/temporary.ts'

const parsed = (anchor: AnchorRecord, at = -1): Transaction =>
  Transaction.from(`0x${Buffer.from(present(anchor.transactions.at(at)).raw, 'base64').toString('hex')}`)

/** A transaction that another program sends from the registry's account. */
const foreign = (
  { account }: EvmFixture,
  nonce: number,
  maxFeePerGas = 10n * GWEI,
): PreparedAnchor & { hex: string } => {
  const input = encodeUtf8('other')
  const fees = { maxFeePerGas, maxPriorityFeePerGas: maxFeePerGas / 2n }
  const { hash, raw } = account.sign({ chainId: CHAIN_ID, nonce, gasLimit: 30_000n, input, ...fees })
  return { ref: hash, raw, hex: `0x${Buffer.from(raw).toString('hex')}` }
}

/** What only a real node shows. The states of an anchor are tested in test/sealer/anchor.test.ts. */
describe('anchoring on an EVM chain', { skip: withoutAnvil }, () => {
  let anvil: Anvil
  let reset: () => Promise<void>
  before(async () => {
    anvil = await Anvil.start()
    reset = await anvil.snapshot()
  })
  beforeEach(() => reset())
  after(() => anvil.stop())

  test('puts the checkpoint into a transaction of value 0 from the account to itself', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    const size = await fixture.seal()
    await fixture.confirm()
    const [mined] = await fixture.assertSound()
    const checkpoint = (await fixture.bench.reader.checkpoints.ofSize(size))?.note ?? ''
    assert.equal(mined?.input, `0x${Buffer.from(checkpoint).toString('hex')}`)
    const { to, from, value, type } = parsed(await fixture.latest())
    assert.deepEqual([to, from, value, type], [fixture.account.address, fixture.account.address, 0n, 2])
    assert.deepEqual(fixture.failures, [])
  })

  test('works with a node that mines each transaction at once', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    await anvil.rpc('evm_setAutomine', true)
    for (let i = 0; i < 3; i++) {
      await fixture.seal()
      await fixture.confirm()
    }
    assert.equal((await fixture.assertSound()).length, 3)
  })

  test('confirms at the configured depth, and not before', async (t) => {
    const fixture = await EvmFixture.open(t, anvil, { confirmations: 12 })
    await fixture.seal()
    await fixture.stepUntil('sent')
    for (let depth = 1; depth <= 12; depth++) {
      assert.equal(await fixture.isDone(), false)
      await anvil.mine()
      await fixture.step()
    }
    assert.equal((await fixture.latest()).confirmation?.confirmations, 12)
    await fixture.assertSound()
  })

  test('confirms once the chain reports the block as finalized, and not before', async (t) => {
    const fixture = await EvmFixture.open(t, anvil, { confirmations: 'finalized' })
    await fixture.seal()
    await fixture.stepUntil('sent')
    await anvil.mine(64)
    await fixture.step()
    assert.equal(await fixture.isDone(), false)
    await anvil.mine(2)
    await fixture.step()
    await fixture.assertSound()
    assert.deepEqual((await fixture.bench.reader.anchorHead()).unsettled, [])
  })

  test('heals after a reorganization that removed confirmed anchors, or an outstanding one', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    await anvil.mine(20)
    for (const isOutstanding of [false, true]) {
      for (let i = 0; i < 2; i++) {
        await fixture.seal()
        await fixture.confirm()
      }
      if (isOutstanding) await fixture.seal()
      if (isOutstanding) await fixture.stepUntil('sent')
      await anvil.reorganize(16)
      // The next step reviews confirmed anchors. If a nonce is missing now, it is filled after a while.
      await fixture.bench.clock.advance(REPLACE_AFTER_MS)
      await fixture.step()
      assert.equal(await fixture.isDone(), false)
      await fixture.confirm()
    }
    // Each later anchor fills one gap of the nonces.
    for (let i = 0; i < 4; i++) {
      await fixture.seal()
      await fixture.confirm()
    }
    await fixture.assertSound()
  })

  test('replaces a transaction when fees have risen, and outbids it by at least a tenth', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    await fixture.seal()
    const first = parsed(await fixture.stepUntil('sent'))
    await anvil.setBaseFee(10n * GWEI)
    await fixture.step()
    assert.equal((await fixture.latest()).transactions.length, 1, 'not at once')
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.confirm()
    const anchor = await fixture.latest()
    const second = parsed(anchor)
    assert.equal(anchor.transactions.length, 2)
    assert.equal(second.nonce, first.nonce)
    assert.ok((second.maxFeePerGas ?? 0n) * 10n >= (first.maxFeePerGas ?? 0n) * 11n)
    assert.ok((second.maxPriorityFeePerGas ?? 0n) * 10n >= (first.maxPriorityFeePerGas ?? 0n) * 11n)
    assert.equal(anchor.confirmation?.ref, second.hash)
    await fixture.assertSound()
  })

  test('keeps to the fee cap while the base fee is higher, and continues when it is lower', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    await fixture.seal()
    await fixture.stepUntil('sent')
    await anvil.setBaseFee(CAP + 30n * GWEI)
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    for (let i = 0; i < 5; i++) await fixture.step()
    assert.equal((await fixture.latest()).transactions.length, 1)
    assert.ok(fixture.failures.length > 0)
    for (const { code, message } of fixture.failures) {
      assert.equal(code, 'ANCHOR_FAILED')
      assert.match(message, /base fee is 80 gwei, but the cap is 50 gwei\. .*raise the cap/)
    }
    await anvil.setBaseFee(30n * GWEI)
    await fixture.confirm()
    assert.equal((await fixture.latest()).transactions.length, 2)
    await fixture.assertSound()
  })

  test('prepares again if fees rise between signing and sending and the node rejects', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    await fixture.seal()
    await fixture.stepUntil('prepared')
    await anvil.setBaseFee(20n * GWEI)
    await fixture.step()
    assert.match(fixture.failures.at(-1)?.message ?? '', /No node accepted the transaction.*less than block base fee/)
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.confirm()
    assert.equal((await fixture.latest()).transactions.length, 2)
    await fixture.assertSound()
  })

  test('fills the gap if a transaction before it was dropped', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    const other = foreign(fixture, 0)
    await anvil.rpc('eth_sendRawTransaction', other.hex)
    await fixture.seal()
    assert.equal(parsed(await fixture.stepUntil('sent')).nonce, 1)
    await anvil.drop(other.ref)
    await anvil.mine(5)
    await fixture.step()
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.confirm()
    const anchor = await fixture.latest()
    assert.deepEqual([parsed(anchor, 0).nonce, parsed(anchor, 1).nonce], [1, 0])
    await fixture.assertSound()
  })

  test('uses another nonce once a foreign transaction with its nonce is confirmed', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    await fixture.seal()
    await fixture.stepUntil('sent')
    await anvil.rpc('eth_sendRawTransaction', foreign(fixture, 0, 20n * GWEI).hex)
    await anvil.mine()
    await fixture.step()
    assert.equal((await fixture.latest()).transactions.length, 1, 'the foreign one may be reorganized away')
    await fixture.confirm()
    const anchor = await fixture.latest()
    assert.deepEqual([parsed(anchor, 0).nonce, parsed(anchor, 1).nonce], [0, 1])
    await fixture.assertSound()
  })

  test('tells how many transactions the account has sent', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    const { account } = fixture
    const options = { rpcUrls: [anvil.url], chainId: CHAIN_ID, account, maxFeePerGas: CAP }
    const anchor = await openEvmAnchor(options)
    const [first, second] = [foreign(fixture, 0), foreign(fixture, 1)]
    const onlyFirst = async function* () {
      yield first
    }
    await anchor.broadcast(first.raw)
    assert.equal(await anchor.findForeignUse(onlyFirst(), 0), undefined)
    await anchor.broadcast(second.raw)
    const found = await anchor.findForeignUse(onlyFirst(), 1)
    assert.match(found?.message ?? '', new RegExp(`The account ${account.address} has sent .* nonce 1,`))
    assert.equal(found?.uses, 2)
    assert.equal(await anchor.findForeignUse(onlyFirst(), 2), undefined)
  })

  test('names an empty account, keeps sealing, and catches up with one anchor once it is funded', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    await anvil.fund(fixture.account.address, 0n)
    for (let i = 0; i < 3; i++) {
      await fixture.seal()
      await fixture.step()
    }
    assert.equal(fixture.failures.length, 3)
    for (const { code, message } of fixture.failures) {
      assert.equal(code, 'ANCHOR_FAILED')
      assert.match(message, new RegExp(`${fixture.account.address} holds 0 gwei, .*: fund it`))
    }
    await anvil.fund(fixture.account.address)
    await fixture.confirm()
    assert.equal((await fixture.assertSound()).length, 1)
  })

  test('keeps the signed transaction if the account was emptied before it was sent', async (t) => {
    const fixture = await EvmFixture.open(t, anvil)
    await fixture.seal()
    const { transactions } = await fixture.stepUntil('prepared')
    await anvil.fund(fixture.account.address, 0n)
    await fixture.step()
    assert.match(fixture.failures.at(-1)?.message ?? '', /Insufficient funds/)
    await anvil.fund(fixture.account.address)
    await fixture.confirm()
    assert.deepEqual((await fixture.latest()).transactions, transactions)
    await fixture.assertSound()
  })
})

test('anchoring continues after the node was down and lost its pool', { skip: withoutAnvil }, async (t) => {
  const statePath = `${await temporaryFor(t)}/state.json`
  const anvil = await Anvil.start({ statePath })
  t.after(() => fixture.anvil.stop())
  const fixture = await EvmFixture.open(t, anvil)
  await fixture.seal()
  await fixture.confirm()
  await fixture.seal()
  const { size, transactions } = await fixture.stepUntil('sent')
  await anvil.stop()
  await fixture.seal()
  await fixture.step()
  // A reset if the pool still holds a connection to the node that was stopped.
  assert.match(
    fixture.failures.at(-1)?.message ?? '',
    /^No node can be used\. RPC endpoint 1: .*(ECONNREFUSED|ECONNRESET|socket hang up)/,
  )
  fixture.anvil = await Anvil.start({ statePath, port: Number(new URL(anvil.url).port) })
  await fixture.confirm()
  assert.equal((await fixture.bench.reader.anchor(size))?.confirmation?.ref, transactions[0]?.ref)
  assert.equal((await fixture.assertSound()).length, 3)
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Transaction } from 'ethers/transaction'
import { encodeUtf8 } from '../../../core/bytes.ts'
import type { AnchorRecord } from '../../../core/log/records.ts'
import { Anvil, CHAIN_ID, GWEI, temporaryDirectory, withoutAnvil } from '../../support/anvil.ts'
import { CAP, EvmFixture, REPLACE_AFTER_MS, type Call } from '../../support/evm-fixture.ts'

const parsed = (anchor: AnchorRecord, at = -1): Transaction =>
  Transaction.from(`0x${Buffer.from(anchor.transactions.at(at)?.raw as string, 'base64').toString('hex')}`)

/** A transaction that another program sends from the registry's account. */
const foreign = (fixture: EvmFixture, nonce: number, maxFeePerGas = 10n * GWEI): { raw: string; hash: string } => {
  const { hash, raw } = fixture.account.sign({
    chainId: CHAIN_ID,
    nonce,
    gasLimit: 30_000n,
    input: encodeUtf8('other'),
    maxFeePerGas,
    maxPriorityFeePerGas: maxFeePerGas / 2n,
  })
  return { hash, raw: `0x${Buffer.from(raw).toString('hex')}` }
}

describe('anchoring on an EVM chain', { skip: withoutAnvil }, () => {
  test('puts the checkpoint into a transaction of value 0 from the account to itself', async (t) => {
    const fixture = await EvmFixture.open(t)
    const size = await fixture.seal()
    await fixture.confirm()
    await fixture.assertSound()
    const [mined] = await fixture.anvil.transactionsOf(fixture.account.address)
    const checkpoint = (await fixture.bench.reader.checkpoint(size))?.note ?? ''
    assert.equal(mined?.input, `0x${Buffer.from(checkpoint).toString('hex')}`)
    const { to, from, value, type } = parsed(await fixture.latest())
    assert.deepEqual([to, from, value, type], [fixture.account.address, fixture.account.address, 0n, 2])
    assert.deepEqual(fixture.failures, [])
  })

  test('works with a node that mines each transaction at once', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.anvil.rpc('evm_setAutomine', true)
    for (let i = 0; i < 3; i++) {
      await fixture.seal()
      await fixture.confirm()
    }
    await fixture.assertSound()
    assert.equal((await fixture.anvil.transactionsOf(fixture.account.address)).length, 3)
  })

  test('waits while no block is mined, and sends no other transaction', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.seal()
    await fixture.send()
    for (let i = 0; i < 10; i++) {
      await fixture.bench.clock.advance(REPLACE_AFTER_MS)
      await fixture.step()
    }
    assert.equal((await fixture.latest()).transactions.length, 1)
    await fixture.seal()
    await fixture.confirm()
    await fixture.assertSound()
    assert.equal((await fixture.anvil.transactionsOf(fixture.account.address)).length, 2)
    assert.deepEqual(fixture.failures, [])
  })

  test('confirms at the configured depth, and not before', async (t) => {
    const fixture = await EvmFixture.open(t, { confirmations: 12 })
    await fixture.seal()
    await fixture.send()
    for (let depth = 1; depth <= 12; depth++) {
      assert.equal(await fixture.isDone(), false)
      await fixture.anvil.mine()
      await fixture.step()
    }
    assert.ok(await fixture.isDone())
    assert.equal((await fixture.latest()).confirmation?.confirmations, 12)
    await fixture.assertSound()
  })

  test('confirms once the chain reports the block as finalized, and not before', async (t) => {
    const fixture = await EvmFixture.open(t, { confirmations: 'finalized' })
    await fixture.seal()
    await fixture.send()
    await fixture.anvil.mine(64)
    await fixture.step()
    assert.equal(await fixture.isDone(), false)
    await fixture.anvil.mine(2)
    await fixture.step()
    assert.ok(await fixture.isDone())
    await fixture.assertSound()
    assert.deepEqual((await fixture.bench.reader.anchorHead()).unsettled, [])
  })

  test('sends the same bytes again if the node dropped them', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.seal()
    const [sent] = (await fixture.send()).transactions
    await fixture.anvil.drop(sent?.ref as string)
    await fixture.confirm()
    const anchor = await fixture.latest()
    assert.deepEqual(anchor.transactions, [sent])
    await fixture.assertSound()
  })

  test('survives reorganizations of 1 to 64 blocks, before and after the confirmation', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.anvil.mine(100)
    for (let depth = 1; depth <= 64; depth++) {
      await fixture.seal()
      await fixture.confirm()
      if (depth % 3 === 0) {
        // Reorganize while the next anchor is outstanding.
        await fixture.seal()
        await fixture.send()
        if (depth % 2 === 0) await fixture.anvil.mine()
      }
      await fixture.anvil.reorganize(depth)
      // The next step reviews confirmed anchors. If a nonce is missing now, it is filled after a while.
      await fixture.bench.clock.advance(REPLACE_AFTER_MS)
      await fixture.step()
      await fixture.confirm()
      await fixture.assertCovered()
    }
    // If several nonces are missing, each later anchor fills one gap.
    for (let i = 0; i < 8; i++) {
      await fixture.seal()
      await fixture.confirm()
    }
    await fixture.assertSound()
    const states = [...(await anchorsOf(fixture))].map(({ state }) => state)
    assert.ok(states.includes('lost'), 'some anchors were covered by a later one')
  })

  test('no longer polls settled anchors', async (t) => {
    const fixture = await EvmFixture.open(t)
    const sizes = []
    for (let i = 0; i < 3; i++) {
      sizes.push(await fixture.seal())
      await fixture.confirm()
    }
    assert.deepEqual((await fixture.bench.reader.anchorHead()).unsettled, sizes)
    await fixture.anvil.mine(64)
    await fixture.bench.clock.advance(10_000)
    await fixture.step()
    assert.deepEqual((await fixture.bench.reader.anchorHead()).unsettled, [])
    await fixture.assertSound()
  })

  test('replaces a pending transaction whose tip is lower than the suggested one', async (t) => {
    const fixture = await EvmFixture.open(t, { isProxied: true })
    await fixture.seal()
    const first = parsed(await fixture.send())
    fixture.proxy.replaceResult('eth_maxPriorityFeePerGas', `0x${(4n * GWEI).toString(16)}`)
    await fixture.step()
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.stepUntil(async () => (await fixture.latest()).transactions.length === 2)
    await fixture.step()
    const anchor = await fixture.latest()
    assert.deepEqual([anchor.state, parsed(anchor).nonce], ['sent', first.nonce])
    assert.equal(parsed(anchor).maxPriorityFeePerGas, 4n * GWEI)
    await fixture.confirm()
    assert.equal((await fixture.latest()).confirmation?.ref, parsed(anchor).hash)
    await fixture.assertSound()
    assert.deepEqual(fixture.failures, [])
  })

  test('never offers more than the cap for a tip, and reports if a replacement would have to', async (t) => {
    const fixture = await EvmFixture.open(t, { isProxied: true })
    fixture.proxy.replaceResult('eth_maxPriorityFeePerGas', `0x${(700n * GWEI).toString(16)}`)
    await fixture.seal()
    const first = parsed(await fixture.send())
    assert.deepEqual([first.maxFeePerGas, first.maxPriorityFeePerGas], [CAP, CAP])
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.step()
    assert.match(fixture.failures.at(-1)?.message as string, /would have to offer 56\.\d+ gwei, but the cap is 50 gwei/)
    await fixture.confirm()
    assert.equal((await fixture.latest()).confirmation?.ref, first.hash)
    await fixture.assertSound()
  })

  test('replaces a transaction when fees have risen, and outbids it by at least a tenth', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.seal()
    const first = parsed(await fixture.send())
    await fixture.anvil.setBaseFee(10n * GWEI)
    await fixture.step()
    assert.equal((await fixture.latest()).transactions.length, 1, 'not at once')
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.confirm()
    const anchor = await fixture.latest()
    const second = parsed(anchor)
    assert.equal(anchor.transactions.length, 2)
    assert.equal(second.nonce, first.nonce)
    assert.ok((second.maxFeePerGas as bigint) * 10n >= (first.maxFeePerGas as bigint) * 11n)
    assert.ok((second.maxPriorityFeePerGas as bigint) * 10n >= (first.maxPriorityFeePerGas as bigint) * 11n)
    assert.equal(anchor.confirmation?.ref, second.hash)
    await fixture.assertSound()
  })

  test('finds the original if that is mined instead of its replacement', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.seal()
    const first = parsed(await fixture.send())
    await fixture.anvil.setBaseFee(10n * GWEI)
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.stepUntil(async () => (await fixture.latest()).transactions.length === 2)
    assert.equal((await fixture.latest()).state, 'prepared')
    await fixture.anvil.setBaseFee(GWEI)
    // This node drops transactions that cannot pay; another node may still have the original.
    await fixture.anvil.rpc('eth_sendRawTransaction', first.serialized)
    await fixture.anvil.mine()
    await fixture.confirm()
    assert.equal((await fixture.latest()).confirmation?.ref, first.hash)
    await fixture.assertSound()
    assert.equal((await fixture.anvil.transactionsOf(fixture.account.address)).length, 1)
  })

  test('keeps to the fee cap while the base fee is higher, and continues when it is lower', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.seal()
    await fixture.send()
    await fixture.anvil.setBaseFee(80n * GWEI)
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    for (let i = 0; i < 5; i++) await fixture.step()
    assert.equal((await fixture.latest()).transactions.length, 1)
    assert.ok(fixture.failures.length > 0)
    for (const { code, message } of fixture.failures) {
      assert.equal(code, 'ANCHOR_FAILED')
      assert.match(message, /base fee is 80 gwei, but the cap is 50 gwei\. .*raise the cap/)
    }
    await fixture.anvil.setBaseFee(30n * GWEI)
    await fixture.confirm()
    assert.equal((await fixture.latest()).transactions.length, 2)
    await fixture.assertSound()
  })

  test('prepares nothing above the cap, and later covers all batches with one anchor', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.anvil.setBaseFee(80n * GWEI)
    for (let i = 0; i < 4; i++) {
      await fixture.seal()
      await fixture.step()
    }
    assert.equal(await fixture.bench.reader.latestAnchor(), undefined)
    assert.equal(fixture.failures.length, 4)
    await fixture.anvil.setBaseFee(GWEI)
    await fixture.confirm()
    await fixture.assertSound()
    assert.equal((await fixture.anvil.transactionsOf(fixture.account.address)).length, 1)
  })

  test('prepares again if fees rise between signing and sending and the node rejects', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.seal()
    await fixture.stepUntil(async () => (await fixture.bench.reader.latestAnchor())?.state === 'prepared')
    await fixture.anvil.setBaseFee(20n * GWEI)
    await fixture.step()
    assert.match(
      fixture.failures.at(-1)?.message as string,
      /No node accepted the transaction.*less than block base fee/,
    )
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.confirm()
    assert.equal((await fixture.latest()).transactions.length, 2)
    await fixture.assertSound()
  })

  test('fills the gap if a transaction before it was dropped', async (t) => {
    const fixture = await EvmFixture.open(t)
    const other = foreign(fixture, 0)
    await fixture.anvil.rpc('eth_sendRawTransaction', other.raw)
    await fixture.seal()
    assert.equal(parsed(await fixture.send()).nonce, 1)
    await fixture.anvil.drop(other.hash)
    await fixture.anvil.mine(5)
    await fixture.step()
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.confirm()
    const anchor = await fixture.latest()
    assert.deepEqual([parsed(anchor, 0).nonce, parsed(anchor, 1).nonce], [1, 0])
    await fixture.assertSound()
  })

  test('uses another nonce once a foreign transaction with its nonce is confirmed', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.seal()
    const [sent] = (await fixture.send()).transactions
    await fixture.anvil.rpc('eth_sendRawTransaction', foreign(fixture, 0, 20n * GWEI).raw)
    await fixture.anvil.mine()
    await fixture.step()
    assert.equal((await fixture.latest()).transactions.length, 1, 'the foreign one may be reorganized away')
    await fixture.confirm()
    const anchor = await fixture.latest()
    assert.equal(anchor.transactions[0]?.ref, sent?.ref)
    assert.deepEqual([parsed(anchor, 0).nonce, parsed(anchor, 1).nonce], [0, 1])
    await fixture.assertSound()
  })

  test('names an empty account, keeps sealing, and catches up with one anchor once it is funded', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.anvil.fund(fixture.account.address, 0n)
    for (let i = 0; i < 3; i++) {
      await fixture.seal()
      await fixture.step()
    }
    assert.equal(fixture.failures.length, 3)
    for (const { code, message } of fixture.failures) {
      assert.equal(code, 'ANCHOR_FAILED')
      assert.match(message, new RegExp(`${fixture.account.address} holds 0 gwei, .*: fund it`))
    }
    assert.equal((await fixture.bench.reader.treeHead()).size, 4)
    await fixture.anvil.fund(fixture.account.address)
    await fixture.confirm()
    await fixture.assertSound()
    assert.equal((await fixture.anvil.transactionsOf(fixture.account.address)).length, 1)
  })

  test('keeps the signed transaction if the account was emptied before it was sent', async (t) => {
    const fixture = await EvmFixture.open(t)
    await fixture.seal()
    await fixture.stepUntil(async () => (await fixture.bench.reader.latestAnchor())?.state === 'prepared')
    await fixture.anvil.fund(fixture.account.address, 0n)
    await fixture.step()
    assert.match(fixture.failures.at(-1)?.message as string, /Insufficient funds/)
    await fixture.bench.clock.advance(REPLACE_AFTER_MS)
    await fixture.step()
    assert.match(fixture.failures.at(-1)?.message as string, /fund it/)
    await fixture.anvil.fund(fixture.account.address)
    await fixture.confirm()
    await fixture.assertSound()
  })

  test('continues after the node was down and lost its pool', async (t) => {
    const directory = await temporaryDirectory()
    t.after(directory.remove)
    const statePath = `${directory.path}/state.json`
    const fixture = await EvmFixture.open(t, { anvil: { statePath } })
    await fixture.seal()
    await fixture.confirm()
    await fixture.seal()
    const [sent] = (await fixture.send()).transactions
    const { port } = fixture.anvil
    await fixture.anvil.stop()
    for (let i = 0; i < 3; i++) {
      await fixture.seal()
      await fixture.step()
    }
    assert.equal(fixture.failures.length, 3)
    assert.match(fixture.failures[0]?.message as string, /^No node can be used\. RPC endpoint 1: .*ECONNREFUSED/)
    fixture.anvil = await Anvil.start({ statePath, port })
    await fixture.confirm()
    const resent = (await anchorsOf(fixture)).find(({ transactions }) => transactions[0]?.ref === sent?.ref)
    assert.equal(resent?.confirmation?.ref, sent?.ref)
    await fixture.assertSound()
    assert.equal((await fixture.anvil.transactionsOf(fixture.account.address)).length, 3)
  })

  test('does not trust a node that came back as another chain', async (t) => {
    const directory = await temporaryDirectory()
    t.after(directory.remove)
    const statePath = `${directory.path}/state.json`
    const fixture = await EvmFixture.open(t, { anvil: { statePath } })
    await fixture.seal()
    await fixture.confirm()
    const { port } = fixture.anvil
    await fixture.anvil.stop()
    await fixture.seal()
    await fixture.step()
    fixture.anvil = await Anvil.start({ port, chainId: 99 })
    await fixture.step()
    assert.match(
      fixture.failures.at(-1)?.message as string,
      /it belongs to chain 99, but the configured chain id is 31337/,
    )
    await fixture.anvil.stop()
    fixture.anvil = await Anvil.start({ port, statePath })
    await fixture.confirm()
    await fixture.assertSound()
  })
})

describe('a crash while anchoring on an EVM chain', { skip: withoutAnvil }, () => {
  for (const call of ['prepare', 'broadcast', 'status'] as const satisfies readonly Call[])
    for (const fault of ['before', 'after'] as const)
      test(`${fault} ${call}: the same transaction is sent, and one is paid`, async (t) => {
        const fixture = await EvmFixture.open(t)
        await fixture.seal()
        fixture.anchor.crashAt(call, fault)
        await fixture.stepUntil(() => fixture.anchor.hasCrashed)
        await fixture.crash()
        await fixture.seal()
        await fixture.confirm()
        await fixture.assertSound()
        const anchors = await anchorsOf(fixture)
        assert.ok(anchors.every(({ transactions }) => transactions.length === 1))
        assert.equal((await fixture.anvil.transactionsOf(fixture.account.address)).length, anchors.length)
      })

  // The commits of an anchor: prepared, sent, confirmed.
  for (const commit of [1, 2, 3])
    for (const fault of ['before', 'after'] as const)
      test(`${fault} commit ${commit} of an anchor: the same transaction is sent, and one is paid`, async (t) => {
        const fixture = await EvmFixture.open(t)
        await fixture.seal()
        fixture.records.failCommit(commit, fault)
        for (let i = 0; i < 10 && fixture.failures.length === 0; i++) {
          await fixture.step()
          await fixture.anvil.mine()
        }
        assert.deepEqual(
          fixture.failures.map(({ code }) => code),
          [fault === 'before' ? 'UNAVAILABLE' : 'UNKNOWN_OUTCOME'],
        )
        await fixture.crash()
        await fixture.confirm()
        await fixture.assertSound()
        assert.equal((await fixture.latest()).transactions.length, 1)
        assert.equal((await fixture.anvil.transactionsOf(fixture.account.address)).length, 1)
      })
})

async function anchorsOf({ bench }: EvmFixture): Promise<readonly AnchorRecord[]> {
  const anchors: AnchorRecord[] = []
  for await (const { value } of bench.records.list({ gte: 'an/', lt: 'an0' }))
    anchors.push(JSON.parse(Buffer.from(value).toString()) as AnchorRecord)
  return anchors
}

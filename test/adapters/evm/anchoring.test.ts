import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Transaction } from 'ethers/transaction'
import { encodeUtf8 } from '../../../core/bytes.ts'
import type { AnchorRecord } from '../../../core/log/records.ts'
import { Anvil, CHAIN_ID, GWEI, temporaryDirectory, withoutAnvil } from '../../support/anvil.ts'
import { CAP, EvmScene, REPLACE_AFTER_MS, type Call } from '../../support/evm-fixture.ts'

const parsed = (anchor: AnchorRecord, at = -1): Transaction =>
  Transaction.from(`0x${Buffer.from(anchor.transactions.at(at)?.raw as string, 'base64').toString('hex')}`)

/** A transaction of the same account that is none of the registry's. */
const foreign = (scene: EvmScene, nonce: number, maxFeePerGas = 10n * GWEI): { raw: string; hash: string } => {
  const { hash, raw } = scene.account.sign({
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
    const scene = await EvmScene.open(t)
    const size = await scene.seal()
    await scene.confirm()
    await scene.assertSound()
    const [mined] = await scene.anvil.transactionsOf(scene.account.address)
    const checkpoint = (await scene.bench.reader.checkpoint(size))?.note ?? ''
    assert.equal(mined?.input, `0x${Buffer.from(checkpoint).toString('hex')}`)
    const { to, from, value, type } = parsed(await scene.latest())
    assert.deepEqual([to, from, value, type], [scene.account.address, scene.account.address, 0n, 2])
    assert.deepEqual(scene.failures, [])
  })

  test('follows a node that mines each transaction at once', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.anvil.rpc('evm_setAutomine', true)
    for (let i = 0; i < 3; i++) {
      await scene.seal()
      await scene.confirm()
    }
    await scene.assertSound()
    assert.equal((await scene.anvil.transactionsOf(scene.account.address)).length, 3)
  })

  test('waits while nothing is mined, and sends nothing else', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.seal()
    await scene.send()
    for (let i = 0; i < 10; i++) {
      await scene.bench.clock.advance(REPLACE_AFTER_MS)
      await scene.step()
    }
    assert.equal((await scene.latest()).transactions.length, 1)
    await scene.seal()
    await scene.confirm()
    await scene.assertSound()
    assert.equal((await scene.anvil.transactionsOf(scene.account.address)).length, 2)
    assert.deepEqual(scene.failures, [])
  })

  test('confirms at the configured depth, and not before', async (t) => {
    const scene = await EvmScene.open(t, { confirmations: 12 })
    await scene.seal()
    await scene.send()
    for (let depth = 1; depth <= 12; depth++) {
      assert.equal(await scene.isDone(), false)
      await scene.anvil.mine()
      await scene.step()
    }
    assert.ok(await scene.isDone())
    assert.equal((await scene.latest()).confirmation?.confirmations, 12)
    await scene.assertSound()
  })

  test('confirms what the chain calls finalized, and not before', async (t) => {
    const scene = await EvmScene.open(t, { confirmations: 'finalized' })
    await scene.seal()
    await scene.send()
    await scene.anvil.mine(64)
    await scene.step()
    assert.equal(await scene.isDone(), false)
    await scene.anvil.mine(2)
    await scene.step()
    assert.ok(await scene.isDone())
    await scene.assertSound()
    assert.deepEqual((await scene.bench.reader.anchorHead()).unsettled, [])
  })

  test('sends the same bytes again where the node dropped them', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.seal()
    const [sent] = (await scene.send()).transactions
    await scene.anvil.drop(sent?.ref as string)
    await scene.confirm()
    const anchor = await scene.latest()
    assert.deepEqual(anchor.transactions, [sent])
    await scene.assertSound()
  })

  test('survives reorganisations of 1 to 64 blocks, before and after the confirmation', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.anvil.mine(100)
    for (let depth = 1; depth <= 64; depth++) {
      await scene.seal()
      await scene.confirm()
      if (depth % 3 === 0) {
        // In the middle of the next one.
        await scene.seal()
        await scene.send()
        if (depth % 2 === 0) await scene.anvil.mine()
      }
      await scene.anvil.reorganise(depth)
      // The next step reviews what was confirmed. Where a nonce is missing now, it is filled after a while.
      await scene.bench.clock.advance(REPLACE_AFTER_MS)
      await scene.step()
      await scene.confirm()
      await scene.assertCovered()
    }
    // Where several nonces went missing at once, one that is filled leaves what was after the next gap to later anchors.
    for (let i = 0; i < 8; i++) {
      await scene.seal()
      await scene.confirm()
    }
    await scene.assertSound()
    const states = [...(await anchorsOf(scene))].map(({ state }) => state)
    assert.ok(states.includes('lost'), 'some were covered by a later one')
  })

  test('no longer asks after what is settled', async (t) => {
    const scene = await EvmScene.open(t)
    const sizes = []
    for (let i = 0; i < 3; i++) {
      sizes.push(await scene.seal())
      await scene.confirm()
    }
    assert.deepEqual((await scene.bench.reader.anchorHead()).unsettled, sizes)
    await scene.anvil.mine(64)
    await scene.bench.clock.advance(10_000)
    await scene.step()
    assert.deepEqual((await scene.bench.reader.anchorHead()).unsettled, [])
    await scene.assertSound()
  })

  test('replaces what waits and offers less of a tip than others do', async (t) => {
    const scene = await EvmScene.open(t, { isProxied: true })
    await scene.seal()
    const first = parsed(await scene.send())
    scene.proxy.answer('eth_maxPriorityFeePerGas', `0x${(4n * GWEI).toString(16)}`)
    await scene.step()
    await scene.bench.clock.advance(REPLACE_AFTER_MS)
    await scene.stepUntil(async () => (await scene.latest()).transactions.length === 2)
    await scene.step()
    const anchor = await scene.latest()
    assert.deepEqual([anchor.state, parsed(anchor).nonce], ['sent', first.nonce])
    assert.equal(parsed(anchor).maxPriorityFeePerGas, 4n * GWEI)
    await scene.confirm()
    assert.equal((await scene.latest()).confirmation?.ref, parsed(anchor).hash)
    await scene.assertSound()
    assert.deepEqual(scene.failures, [])
  })

  test('offers no more than the cap for a tip, and says so where a replacement would have to', async (t) => {
    const scene = await EvmScene.open(t, { isProxied: true })
    scene.proxy.answer('eth_maxPriorityFeePerGas', `0x${(700n * GWEI).toString(16)}`)
    await scene.seal()
    const first = parsed(await scene.send())
    assert.deepEqual([first.maxFeePerGas, first.maxPriorityFeePerGas], [CAP, CAP])
    await scene.bench.clock.advance(REPLACE_AFTER_MS)
    await scene.step()
    assert.match(scene.failures.at(-1)?.message as string, /would have to offer 56\.\d+ gwei, and the cap is 50/)
    await scene.confirm()
    assert.equal((await scene.latest()).confirmation?.ref, first.hash)
    await scene.assertSound()
  })

  test('replaces what a rise of fees left behind, and outbids it by a tenth at least', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.seal()
    const first = parsed(await scene.send())
    await scene.anvil.setBaseFee(10n * GWEI)
    await scene.step()
    assert.equal((await scene.latest()).transactions.length, 1, 'not at once')
    await scene.bench.clock.advance(REPLACE_AFTER_MS)
    await scene.confirm()
    const anchor = await scene.latest()
    const second = parsed(anchor)
    assert.equal(anchor.transactions.length, 2)
    assert.equal(second.nonce, first.nonce)
    assert.ok((second.maxFeePerGas as bigint) * 10n >= (first.maxFeePerGas as bigint) * 11n)
    assert.ok((second.maxPriorityFeePerGas as bigint) * 10n >= (first.maxPriorityFeePerGas as bigint) * 11n)
    assert.equal(anchor.confirmation?.ref, second.hash)
    await scene.assertSound()
  })

  test('finds the original where that is mined, not its replacement', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.seal()
    const first = parsed(await scene.send())
    await scene.anvil.setBaseFee(10n * GWEI)
    await scene.bench.clock.advance(REPLACE_AFTER_MS)
    await scene.stepUntil(async () => (await scene.latest()).transactions.length === 2)
    assert.equal((await scene.latest()).state, 'prepared')
    await scene.anvil.setBaseFee(GWEI)
    // This node drops what can not pay; one that did not has the original still.
    await scene.anvil.rpc('eth_sendRawTransaction', first.serialized)
    await scene.anvil.mine()
    await scene.confirm()
    assert.equal((await scene.latest()).confirmation?.ref, first.hash)
    await scene.assertSound()
    assert.equal((await scene.anvil.transactionsOf(scene.account.address)).length, 1)
  })

  test('keeps the fee cap while the network asks for more, and goes on when it asks for less', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.seal()
    await scene.send()
    await scene.anvil.setBaseFee(80n * GWEI)
    await scene.bench.clock.advance(REPLACE_AFTER_MS)
    for (let i = 0; i < 5; i++) await scene.step()
    assert.equal((await scene.latest()).transactions.length, 1)
    assert.ok(scene.failures.length > 0)
    for (const { code, message } of scene.failures) {
      assert.equal(code, 'ANCHOR_FAILED')
      assert.match(message, /base fee is 80 gwei, and the cap 50: .*raise the cap/)
    }
    await scene.anvil.setBaseFee(30n * GWEI)
    await scene.confirm()
    assert.equal((await scene.latest()).transactions.length, 2)
    await scene.assertSound()
  })

  test('prepares nothing above the cap, and covers all that has gathered by one anchor', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.anvil.setBaseFee(80n * GWEI)
    for (let i = 0; i < 4; i++) {
      await scene.seal()
      await scene.step()
    }
    assert.equal(await scene.bench.reader.latestAnchor(), undefined)
    assert.equal(scene.failures.length, 4)
    await scene.anvil.setBaseFee(GWEI)
    await scene.confirm()
    await scene.assertSound()
    assert.equal((await scene.anvil.transactionsOf(scene.account.address)).length, 1)
  })

  test('prepares anew where fees rose between signing and sending, and the node refuses', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.seal()
    await scene.stepUntil(async () => (await scene.bench.reader.latestAnchor())?.state === 'prepared')
    await scene.anvil.setBaseFee(20n * GWEI)
    await scene.step()
    assert.match(scene.failures.at(-1)?.message as string, /No node took the transaction.*less than block base fee/)
    await scene.bench.clock.advance(REPLACE_AFTER_MS)
    await scene.confirm()
    assert.equal((await scene.latest()).transactions.length, 2)
    await scene.assertSound()
  })

  test('fills the gap where a transaction before it is gone', async (t) => {
    const scene = await EvmScene.open(t)
    const other = foreign(scene, 0)
    await scene.anvil.rpc('eth_sendRawTransaction', other.raw)
    await scene.seal()
    assert.equal(parsed(await scene.send()).nonce, 1)
    await scene.anvil.drop(other.hash)
    await scene.anvil.mine(5)
    await scene.step()
    await scene.bench.clock.advance(REPLACE_AFTER_MS)
    await scene.confirm()
    const anchor = await scene.latest()
    assert.deepEqual([parsed(anchor, 0).nonce, parsed(anchor, 1).nonce], [1, 0])
    await scene.assertSound()
  })

  test('takes another nonce where a foreign transaction used its own, once that is deep enough', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.seal()
    const [sent] = (await scene.send()).transactions
    await scene.anvil.rpc('eth_sendRawTransaction', foreign(scene, 0, 20n * GWEI).raw)
    await scene.anvil.mine()
    await scene.step()
    assert.equal((await scene.latest()).transactions.length, 1, 'the other one may be reorganised away')
    await scene.confirm()
    const anchor = await scene.latest()
    assert.equal(anchor.transactions[0]?.ref, sent?.ref)
    assert.deepEqual([parsed(anchor, 0).nonce, parsed(anchor, 1).nonce], [0, 1])
    await scene.assertSound()
  })

  test('says whose account is empty, seals on, and catches up with one anchor once it is funded', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.anvil.fund(scene.account.address, 0n)
    for (let i = 0; i < 3; i++) {
      await scene.seal()
      await scene.step()
    }
    assert.equal(scene.failures.length, 3)
    for (const { code, message } of scene.failures) {
      assert.equal(code, 'ANCHOR_FAILED')
      assert.match(message, new RegExp(`${scene.account.address} holds 0 gwei, .*: fund it`))
    }
    assert.equal((await scene.bench.reader.treeHead()).size, 4)
    await scene.anvil.fund(scene.account.address)
    await scene.confirm()
    await scene.assertSound()
    assert.equal((await scene.anvil.transactionsOf(scene.account.address)).length, 1)
  })

  test('waits with what is signed where the account was emptied before it was sent', async (t) => {
    const scene = await EvmScene.open(t)
    await scene.seal()
    await scene.stepUntil(async () => (await scene.bench.reader.latestAnchor())?.state === 'prepared')
    await scene.anvil.fund(scene.account.address, 0n)
    await scene.step()
    assert.match(scene.failures.at(-1)?.message as string, /Insufficient funds/)
    await scene.bench.clock.advance(REPLACE_AFTER_MS)
    await scene.step()
    assert.match(scene.failures.at(-1)?.message as string, /fund it/)
    await scene.anvil.fund(scene.account.address)
    await scene.confirm()
    await scene.assertSound()
  })

  test('goes on after the node was down and came back without its pool', async (t) => {
    const directory = await temporaryDirectory()
    t.after(directory.remove)
    const statePath = `${directory.path}/state.json`
    const scene = await EvmScene.open(t, { anvil: { statePath } })
    await scene.seal()
    await scene.confirm()
    await scene.seal()
    const [sent] = (await scene.send()).transactions
    const { port } = scene.anvil
    await scene.anvil.stop()
    for (let i = 0; i < 3; i++) {
      await scene.seal()
      await scene.step()
    }
    assert.equal(scene.failures.length, 3)
    assert.match(scene.failures[0]?.message as string, /^No node can be used\. RPC endpoint 1: .*ECONNREFUSED/)
    scene.anvil = await Anvil.start({ statePath, port })
    await scene.confirm()
    const resent = (await anchorsOf(scene)).find(({ transactions }) => transactions[0]?.ref === sent?.ref)
    assert.equal(resent?.confirmation?.ref, sent?.ref)
    await scene.assertSound()
    assert.equal((await scene.anvil.transactionsOf(scene.account.address)).length, 3)
  })

  test('does not trust a node that came back as another chain', async (t) => {
    const directory = await temporaryDirectory()
    t.after(directory.remove)
    const statePath = `${directory.path}/state.json`
    const scene = await EvmScene.open(t, { anvil: { statePath } })
    await scene.seal()
    await scene.confirm()
    const { port } = scene.anvil
    await scene.anvil.stop()
    await scene.seal()
    await scene.step()
    scene.anvil = await Anvil.start({ port, chainId: 99 })
    await scene.step()
    assert.match(scene.failures.at(-1)?.message as string, /it is of chain 99, and the configured chain id is 31337/)
    await scene.anvil.stop()
    scene.anvil = await Anvil.start({ port, statePath })
    await scene.confirm()
    await scene.assertSound()
  })
})

describe('a crash while anchoring on an EVM chain', { skip: withoutAnvil }, () => {
  for (const call of ['prepare', 'broadcast', 'status'] as const satisfies readonly Call[])
    for (const fault of ['before', 'after'] as const)
      test(`${fault} ${call}: the same transaction is sent, and one is paid`, async (t) => {
        const scene = await EvmScene.open(t)
        await scene.seal()
        scene.anchor.dieAt(call, fault)
        await scene.stepUntil(() => scene.anchor.isDead)
        await scene.crash()
        await scene.seal()
        await scene.confirm()
        await scene.assertSound()
        const anchors = await anchorsOf(scene)
        assert.ok(anchors.every(({ transactions }) => transactions.length === 1))
        assert.equal((await scene.anvil.transactionsOf(scene.account.address)).length, anchors.length)
      })

  // Prepared, sent, confirmed.
  for (const commit of [1, 2, 3])
    for (const fault of ['before', 'after'] as const)
      test(`${fault} commit ${commit} of an anchor: the same transaction is sent, and one is paid`, async (t) => {
        const scene = await EvmScene.open(t)
        await scene.seal()
        scene.records.failCommit(commit, fault)
        for (let i = 0; i < 10 && scene.failures.length === 0; i++) {
          await scene.step()
          await scene.anvil.mine()
        }
        assert.deepEqual(
          scene.failures.map(({ code }) => code),
          [fault === 'before' ? 'UNAVAILABLE' : 'UNKNOWN_OUTCOME'],
        )
        await scene.crash()
        await scene.confirm()
        await scene.assertSound()
        assert.equal((await scene.latest()).transactions.length, 1)
        assert.equal((await scene.anvil.transactionsOf(scene.account.address)).length, 1)
      })
})

async function anchorsOf({ bench }: EvmScene): Promise<readonly AnchorRecord[]> {
  const anchors: AnchorRecord[] = []
  for await (const { value } of bench.records.list({ gte: 'an/', lt: 'an0' }))
    anchors.push(JSON.parse(Buffer.from(value).toString()) as AnchorRecord)
  return anchors
}

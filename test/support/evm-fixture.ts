import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openEvmAnchor, verifyEvmAnchor, type EvmAccount, type EvmAnchorOptions } from '../../adapters/evm/index.ts'
import { encodeUtf8, fromBase64 } from '../../core/bytes.ts'
import { isRegistryError, type RegistryError } from '../../core/errors.ts'
import type { AnchorRecord } from '../../core/log/records.ts'
import type { Anchor, Sealer } from '../../core/ports/index.ts'
import { Anchorer } from '../../sealer/anchorer.ts'
import { SealerFixture } from './sealer-fixture.ts'
import { CHAIN_ID, GWEI, newAccount, type Anvil } from './anvil.ts'

export const CAP = 50n * GWEI
export const REPLACE_AFTER_MS = 180_000
const POLL_MS = 1_000

/** A log, its sealer, and a real anchorer on a real node. Tests step it and move its clock. */
export class EvmFixture {
  readonly bench: SealerFixture
  readonly account: EvmAccount
  anvil: Anvil
  /** Errors of the steps that failed. */
  readonly failures: RegistryError[] = []
  readonly #sealer: Sealer
  readonly #anchorer: Anchorer

  private constructor(bench: SealerFixture, sealer: Sealer, anvil: Anvil, account: EvmAccount, anchor: Anchor) {
    this.bench = bench
    this.#sealer = sealer
    this.anvil = anvil
    this.account = account
    const { records, signedHead, identity, clock, logger, reader } = bench
    this.#anchorer = new Anchorer({
      host: { records, signedHead, identity, clock, logger },
      reader,
      anchor,
      schedule: { intervalMs: 0, pollIntervalMs: POLL_MS, replaceAfterMs: REPLACE_AFTER_MS },
    })
  }

  /** With a new account that the node has funded. */
  static async open(t: TestContext, anvil: Anvil, options: Partial<EvmAnchorOptions> = {}): Promise<EvmFixture> {
    const account = await newAccount()
    await anvil.fund(account.address)
    const bench = await SealerFixture.open()
    const required = { rpcUrls: [anvil.url], chainId: CHAIN_ID, account, maxFeePerGas: CAP }
    const anchor = await openEvmAnchor({ ...required, confirmations: 3, ...options })
    t.after(async () => {
      await bench.close()
      await anchor.close()
    })
    return new EvmFixture(bench, await bench.start(), anvil, account, anchor)
  }

  /** Appends an event and seals it. Returns the tree's size. */
  async seal(): Promise<number> {
    await this.bench.append(1)
    await this.#sealer.sealNow()
    return (await this.bench.reader.tree.head()).size
  }

  /** Runs one step of the anchorer and lets the time until the next one pass. Records a failure. */
  async step(): Promise<void> {
    let pauseMs = POLL_MS
    try {
      pauseMs = await this.#anchorer.step(new AbortController().signal)
    } catch (error) {
      assert.ok(isRegistryError(error), String(error))
      this.failures.push(error)
    }
    await this.bench.clock.advance(pauseMs)
  }

  /** Steps and mines until the newest checkpoint is confirmed and no anchor is outstanding. */
  async confirm(maxSteps = 80): Promise<void> {
    for (let i = 0; i < maxSteps; i++) {
      if (await this.isDone()) return
      await this.step()
      await this.anvil.mine()
    }
    assert.fail(`Not confirmed after ${maxSteps} steps: ${this.failures.at(-1)?.message ?? 'no failure'}`)
  }

  /** Steps without mining until the newest anchor has this state. Returns it. */
  async stepUntil(state: AnchorRecord['state']): Promise<AnchorRecord> {
    for (let i = 0; i < 20; i++) {
      const anchor = await this.bench.reader.latestAnchor()
      if (anchor?.state === state) return anchor
      await this.step()
    }
    return assert.fail(`No anchor is ${state}: ${this.failures.at(-1)?.message ?? 'no failure'}`)
  }

  async isDone(): Promise<boolean> {
    const { confirmedSize, outstanding } = await this.bench.reader.anchorHead()
    return outstanding === null && confirmedSize === (await this.bench.reader.tree.head()).size
  }

  /** The newest anchor. */
  async latest(): Promise<AnchorRecord> {
    const anchor = await this.bench.reader.latestAnchor()
    assert.ok(anchor)
    return anchor
  }

  /**
   * Asserts that a confirmed anchor covers the newest batch, that it is in its block of the chain, that its proof
   * verifies, and that no transaction is pending or offers more than the cap. Returns the account's transactions.
   */
  async assertSound(): ReturnType<Anvil['transactionsOf']> {
    assert.ok(await this.isDone())
    const { confirmation, checkpoint, size } = await this.latest()
    assert.ok(confirmation)
    assert.equal(size, (await this.bench.reader.tree.head()).size)
    const { ref: txHash, blockNumber, blockHash, blockTime, evidence } = confirmation
    const block = await this.anvil.block(blockNumber)
    assert.deepEqual([block.hash, Number(block.timestamp) * 1000], [blockHash, blockTime])
    assert.ok(block.transactions.some(({ hash }) => hash === txHash))
    const expected = { chainId: CHAIN_ID, account: this.account.address, txHash, blockHash }
    const proof = fromBase64(evidence) ?? new Uint8Array()
    const verified = verifyEvmAnchor(proof, { ...expected, checkpoint: encodeUtf8(checkpoint) })
    assert.deepEqual(verified, { blockNumber, blockTime })
    const mined = await this.anvil.transactionsOf(this.account.address)
    assert.ok(mined.every(({ maxFeePerGas }) => BigInt(maxFeePerGas) <= CAP))
    assert.deepEqual(await this.anvil.rpc('txpool_status'), { pending: '0x0', queued: '0x0' })
    return mined
  }
}

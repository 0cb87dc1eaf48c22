import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openEvmAnchor, verifyEvmAnchor, type EvmAccount, type EvmAnchorOptions } from '../../adapters/evm/index.ts'
import { encodeUtf8, fromBase64 } from '../../core/bytes.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import { decodeRecord } from '../../core/store/record-codec.ts'
import type { AnchorRecord, ConfirmedAnchorRecord } from '../../core/log/records.ts'
import type { Anchor, PreparedAnchor, Sealer } from '../../core/ports/index.ts'
import { Anchorer } from '../../sealer/anchorer.ts'
import { FaultyRecords } from './faulty-records.ts'
import { recordsOf, SealerFixture } from './sealer-fixture.ts'
import { Anvil, CHAIN_ID, GWEI, newAccount, type AnvilOptions } from './anvil.ts'
import { Proxy } from './rpc-proxy.ts'

export const CAP = 50n * GWEI
export const REPLACE_AFTER_MS = 180_000
const POLL_MS = 1_000

export type Call = 'prepare' | 'broadcast' | 'status'

/**
 * The anchor of a process that crashes at one of its calls: before the call takes effect, or after it, with the result
 * lost. All later calls fail without effect.
 */
export class CrashableAnchor implements Anchor {
  readonly #anchor: Anchor
  #hasCrashed = false
  #next: { readonly call: Call; readonly fault: 'before' | 'after' } | undefined

  constructor(anchor: Anchor) {
    this.#anchor = anchor
  }

  get info(): Anchor['info'] {
    return this.#anchor.info
  }

  get hasCrashed(): boolean {
    return this.#hasCrashed
  }

  crashAt(call: Call, fault: 'before' | 'after'): void {
    this.#next = { call, fault }
  }

  prepare(...args: Parameters<Anchor['prepare']>): Promise<PreparedAnchor> {
    return this.#attempt('prepare', () => this.#anchor.prepare(...args))
  }

  broadcast(...args: Parameters<Anchor['broadcast']>): Promise<void> {
    return this.#attempt('broadcast', () => this.#anchor.broadcast(...args))
  }

  status(...args: Parameters<Anchor['status']>): ReturnType<Anchor['status']> {
    return this.#attempt('status', () => this.#anchor.status(...args))
  }

  findForeignUse(...args: Parameters<Anchor['findForeignUse']>): ReturnType<Anchor['findForeignUse']> {
    return this.#anchor.findForeignUse(...args)
  }

  close(): Promise<void> {
    return this.#anchor.close()
  }

  async #attempt<T>(call: Call, act: () => Promise<T>): Promise<T> {
    const fault = this.#next?.call === call ? this.#next.fault : undefined
    if (this.#hasCrashed || fault === 'before') throw this.#crash(`${call} had no effect`)
    const result = await act()
    if (fault === 'after') throw this.#crash(`the result of ${call} was lost`)
    return result
  }

  #crash(outcome: string): RegistryError {
    this.#hasCrashed = true
    return new RegistryError('ANCHOR_FAILED', `Injected: ${outcome}`)
  }
}

export type EvmFixtureOptions = Partial<Omit<EvmAnchorOptions, 'account'>> & {
  readonly anvil?: AnvilOptions
  /** Whether the anchor reaches the node through `proxy`. */
  readonly isProxied?: boolean
}

/** A log, its sealer, and a real anchorer on a real node. Tests step it and move its clock. */
export class EvmFixture {
  readonly bench: SealerFixture
  readonly account: EvmAccount
  readonly records: FaultyRecords
  readonly #sealer: Sealer
  readonly #options: AnchorOptions
  anvil: Anvil
  anchor: CrashableAnchor
  readonly #proxy: Proxy | undefined
  /** Errors of the steps that failed. */
  readonly failures: RegistryError[] = []
  #anchorer: Anchorer

  private constructor(bench: SealerFixture, sealer: Sealer, anvil: Anvil, anchor: Anchor, parts: FixtureParts) {
    this.bench = bench
    this.#sealer = sealer
    this.anvil = anvil
    this.account = parts.account
    this.#options = parts.options
    this.#proxy = parts.proxy
    this.records = new FaultyRecords(bench.records)
    this.anchor = new CrashableAnchor(anchor)
    this.#anchorer = this.#newAnchorer()
  }

  static async open(
    t: TestContext,
    { anvil: anvilOptions, isProxied = false, ...given }: EvmFixtureOptions = {},
  ): Promise<EvmFixture> {
    const anvil = await Anvil.start(anvilOptions)
    const account = await newAccount()
    await anvil.fund(account.address)
    const bench = await SealerFixture.open()
    const proxy = isProxied ? await Proxy.start(anvil.url) : undefined
    const options = { ...given, rpcUrls: given.rpcUrls ?? [proxy?.url ?? anvil.url] }
    const anchor = await openAnchor(account, options)
    const fixture = new EvmFixture(bench, await bench.start(), anvil, anchor, { account, options, proxy })
    t.after(async () => {
      await bench.close()
      await fixture.anchor.close()
      await proxy?.stop()
      await fixture.anvil.stop()
    })
    return fixture
  }

  get proxy(): Proxy {
    assert.ok(this.#proxy)
    return this.#proxy
  }

  /** Appends an event and seals it. Returns the tree's size. */
  async seal(): Promise<number> {
    await this.bench.append(1)
    await this.#sealer.sealNow()
    return (await this.bench.reader.treeHead()).size
  }

  /** Runs one step of the anchorer and lets the time until the next pass. Records a failure. */
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

  /** Steps without mining until the condition holds. */
  async stepUntil(condition: () => boolean | Promise<boolean>, maxSteps = 20): Promise<void> {
    for (let i = 0; i < maxSteps; i++) {
      if (await condition()) return
      await this.step()
    }
    assert.fail(`Not true after ${maxSteps} steps: ${condition.toString()}`)
  }

  async isDone(): Promise<boolean> {
    const { confirmedSize, outstanding } = await this.bench.reader.anchorHead()
    return outstanding === null && confirmedSize === (await this.bench.reader.treeHead()).size
  }

  /** Crashes the process; a new one continues from the stored state. */
  async crash(): Promise<void> {
    await this.anchor.close()
    this.anchor = new CrashableAnchor(await openAnchor(this.account, this.#options))
    this.#anchorer = this.#newAnchorer()
  }

  /** The newest anchor. */
  async latest(): Promise<AnchorRecord> {
    const anchor = await this.bench.reader.latestAnchor()
    assert.ok(anchor)
    return anchor
  }

  /** Steps until the outstanding anchor is in the node's pool. */
  async send(): Promise<AnchorRecord> {
    await this.stepUntil(async () => (await this.bench.reader.latestAnchor())?.state === 'sent')
    return this.latest()
  }

  /**
   * Asserts what must hold after any fault: every batch is covered by a confirmed anchor, whose proof verifies and
   * whose block is in the chain. Each nonce has one mined transaction, none of which offers more than the cap. No
   * transaction is pending.
   */
  async assertSound(): Promise<void> {
    for (const step of await this.assertCovered()) await this.#assertInChain(step)
    const mined = await this.anvil.transactionsOf(this.account.address)
    assert.equal(new Set(mined.map(({ nonce }) => nonce)).size, mined.length)
    for (const { maxFeePerGas } of mined) assert.ok(BigInt(maxFeePerGas) <= CAP)
    assert.deepEqual(await this.anvil.rpc('txpool_status'), { pending: '0x0', queued: '0x0' })
  }

  /**
   * Asserts that no anchor is outstanding and that the newest batch is covered in a block of the chain. Returns the
   * confirmed anchors.
   */
  async assertCovered(): Promise<readonly ConfirmedAnchorRecord[]> {
    assert.ok(await this.isDone())
    const steps: ConfirmedAnchorRecord[] = []
    for await (const entry of this.bench.records.list({ gte: 'ac/', lt: 'ac0' }))
      steps.push(decodeRecord<ConfirmedAnchorRecord>(entry))
    assert.equal((await recordsOf(this.bench.records, 'ac')).size, steps.length)
    const last = steps.at(-1)
    assert.ok(last)
    assert.equal(last.size, (await this.bench.reader.treeHead()).size)
    await this.#assertInChain(last)
    return steps
  }

  async #assertInChain({ size, blockNumber }: ConfirmedAnchorRecord): Promise<void> {
    const anchor = await this.bench.reader.anchor(size)
    const confirmation = anchor?.confirmation
    assert.ok(anchor && confirmation)
    assert.equal(anchor.state, 'confirmed')
    assert.equal(confirmation.blockNumber, blockNumber)
    const block = await this.anvil.block(blockNumber)
    assert.equal(block.hash, confirmation.blockHash)
    assert.equal(Number(block.timestamp) * 1000, confirmation.blockTime)
    assert.ok(block.transactions.some(({ hash }) => hash === confirmation.ref))
    const verified = verifyEvmAnchor(fromBase64(confirmation.evidence) as Uint8Array, {
      chainId: CHAIN_ID,
      account: this.account.address,
      checkpoint: encodeUtf8(anchor.checkpoint),
      txHash: confirmation.ref,
      blockHash: confirmation.blockHash,
    })
    assert.deepEqual(verified, { blockNumber, blockTime: confirmation.blockTime })
  }

  #newAnchorer(): Anchorer {
    const { signedHead, identity, clock, logger, reader } = this.bench
    const host = { records: this.records, signedHead, identity, clock, logger }
    const pace = { intervalMs: 0, pollIntervalMs: POLL_MS, replaceAfterMs: REPLACE_AFTER_MS }
    return new Anchorer({ host, reader, anchor: this.anchor, schedule: pace })
  }
}

type AnchorOptions = Partial<Omit<EvmAnchorOptions, 'account'>> & Pick<EvmAnchorOptions, 'rpcUrls'>

interface FixtureParts {
  readonly account: EvmAccount
  readonly options: AnchorOptions
  readonly proxy: Proxy | undefined
}

const openAnchor = (account: EvmAccount, options: AnchorOptions): Promise<Anchor> =>
  openEvmAnchor({ chainId: CHAIN_ID, confirmations: 3, maxFeePerGas: CAP, ...options, account })

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openEvmAnchor, verifyEvmAnchor, type EvmAccount, type EvmAnchorOptions } from '../../adapters/evm/index.ts'
import { encodeUtf8, fromBase64 } from '../../core/bytes.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import { decodeRecord } from '../../core/store/record-codec.ts'
import type { AnchorRecord, ConfirmedAnchorRecord } from '../../core/log/records.ts'
import type { Anchor, PreparedAnchor, Sealer } from '../../core/ports.ts'
import { Anchorer } from '../../sealer/anchorer.ts'
import { FaultyRecords } from './faulty-records.ts'
import { recordsOf, SealerFixture } from './sealer-fixture.ts'
import { Anvil, CHAIN_ID, GWEI, newAccount, type AnvilOptions } from './anvil.ts'
import { Proxy } from './rpc-proxy.ts'

export const CAP = 50n * GWEI
export const REPLACE_AFTER_MS = 180_000
const POLL_MS = 1_000

export type Call = 'prepare' | 'broadcast' | 'status'

/** The anchor of a process that dies at one of its calls: with nothing done, or done and the answer lost. No later call does anything. */
export class MortalAnchor implements Anchor {
  readonly #anchor: Anchor
  #isDead = false
  #next: { readonly call: Call; readonly fault: 'before' | 'after' } | undefined

  constructor(anchor: Anchor) {
    this.#anchor = anchor
  }

  get info(): Anchor['info'] {
    return this.#anchor.info
  }

  get isDead(): boolean {
    return this.#isDead
  }

  dieAt(call: Call, fault: 'before' | 'after'): void {
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

  close(): Promise<void> {
    return this.#anchor.close()
  }

  async #attempt<T>(call: Call, act: () => Promise<T>): Promise<T> {
    const fault = this.#next?.call === call ? this.#next.fault : undefined
    if (this.#isDead || fault === 'before') throw this.#died(`${call} did nothing`)
    const answer = await act()
    if (fault === 'after') throw this.#died(`the answer of ${call} was lost`)
    return answer
  }

  #died(how: string): RegistryError {
    this.#isDead = true
    return new RegistryError('ANCHOR_FAILED', `Injected: ${how}`)
  }
}

export type SceneOptions = Partial<Omit<EvmAnchorOptions, 'account'>> & {
  readonly anvil?: AnvilOptions
  /** Whether the anchor speaks to the node through `proxy`. */
  readonly isProxied?: boolean
}

/** A log, its sealer, and a real anchorer on a real node, stepped by hand on a clock that stands. */
export class EvmScene {
  readonly bench: SealerFixture
  readonly account: EvmAccount
  readonly records: FaultyRecords
  readonly #sealer: Sealer
  readonly #options: AnchorOptions
  anvil: Anvil
  anchor: MortalAnchor
  readonly #proxy: Proxy | undefined
  /** Codes and messages of the steps that failed. */
  readonly failures: RegistryError[] = []
  #anchorer: Anchorer

  private constructor(bench: SealerFixture, sealer: Sealer, anvil: Anvil, anchor: Anchor, parts: SceneParts) {
    this.bench = bench
    this.#sealer = sealer
    this.anvil = anvil
    this.account = parts.account
    this.#options = parts.options
    this.#proxy = parts.proxy
    this.records = new FaultyRecords(bench.records)
    this.anchor = new MortalAnchor(anchor)
    this.#anchorer = this.#newAnchorer()
  }

  static async open(
    t: TestContext,
    { anvil: anvilOptions, isProxied = false, ...given }: SceneOptions = {},
  ): Promise<EvmScene> {
    const anvil = await Anvil.start(anvilOptions)
    const account = newAccount()
    await anvil.fund(account.address)
    const bench = await SealerFixture.open()
    const proxy = isProxied ? await Proxy.start(anvil.url) : undefined
    const options = { ...given, rpcUrls: given.rpcUrls ?? [proxy?.url ?? anvil.url] }
    const anchor = await openAnchor(account, options)
    const scene = new EvmScene(bench, await bench.start(), anvil, anchor, { account, options, proxy })
    t.after(async () => {
      await bench.close()
      await scene.anchor.close()
      await proxy?.stop()
      await scene.anvil.stop()
    })
    return scene
  }

  get proxy(): Proxy {
    assert.ok(this.#proxy)
    return this.#proxy
  }

  /** Appends an event and seals it. Answers the tree's size. */
  async seal(): Promise<number> {
    await this.bench.append(1)
    await this.#sealer.sealNow()
    return (await this.bench.reader.treeHead()).size
  }

  /** One step of the anchorer, and the time until the next. One that fails is noted. */
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

  /** Steps, with a block after each, until the newest checkpoint is confirmed and nothing is outstanding. */
  async confirm(maxSteps = 80): Promise<void> {
    for (let i = 0; i < maxSteps; i++) {
      if (await this.isDone()) return
      await this.step()
      await this.anvil.mine()
    }
    assert.fail(`Not confirmed after ${maxSteps} steps: ${this.failures.at(-1)?.message ?? 'no failure'}`)
  }

  /** Steps without a block until it is true. */
  async stepUntil(isTrue: () => boolean | Promise<boolean>, maxSteps = 20): Promise<void> {
    for (let i = 0; i < maxSteps; i++) {
      if (await isTrue()) return
      await this.step()
    }
    assert.fail(`Not true after ${maxSteps} steps: ${isTrue.toString()}`)
  }

  async isDone(): Promise<boolean> {
    const { confirmedSize, outstanding } = await this.bench.reader.anchorHead()
    return outstanding === null && confirmedSize === (await this.bench.reader.treeHead()).size
  }

  /** The process dies, and another goes on from what is stored. */
  async crash(): Promise<void> {
    await this.anchor.close()
    this.anchor = new MortalAnchor(await openAnchor(this.account, this.#options))
    this.#anchorer = this.#newAnchorer()
  }

  /** The anchor that was begun last. */
  async latest(): Promise<AnchorRecord> {
    const anchor = await this.bench.reader.latestAnchor()
    assert.ok(anchor)
    return anchor
  }

  /** The outstanding anchor is sent and waits in the node's pool. */
  async send(): Promise<AnchorRecord> {
    await this.stepUntil(async () => (await this.bench.reader.latestAnchor())?.state === 'sent')
    return this.latest()
  }

  /**
   * What must hold whatever happened: every batch is covered by a confirmed anchor, whose evidence verifies and whose block is the chain's;
   * one mined transaction a nonce, none above the cap, none left in the pool.
   */
  async assertSound(): Promise<void> {
    for (const step of await this.assertCovered()) await this.#assertInChain(step)
    const mined = await this.anvil.transactionsOf(this.account.address)
    assert.equal(new Set(mined.map(({ nonce }) => nonce)).size, mined.length)
    for (const { maxFeePerGas } of mined) assert.ok(BigInt(maxFeePerGas) <= CAP)
    assert.deepEqual(await this.anvil.rpc('txpool_status'), { pending: '0x0', queued: '0x0' })
  }

  /** Only that nothing is outstanding, and the newest batch covered in a block of the chain. Answers the staircase. */
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

interface SceneParts {
  readonly account: EvmAccount
  readonly options: AnchorOptions
  readonly proxy: Proxy | undefined
}

const openAnchor = (account: EvmAccount, options: AnchorOptions): Promise<Anchor> =>
  openEvmAnchor({ chainId: CHAIN_ID, confirmations: 3, maxFeePerGas: CAP, ...options, account })

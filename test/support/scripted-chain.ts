import { concatBytes, sha256, sha256Of, toHex, u64 } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import type { Anchor, AnchorInfo, AnchorStatus, ForeignUse, PreparedAnchor } from '../../core/ports/index.ts'

export type Step = 'prepare' | 'broadcast' | 'status'

interface Transaction {
  readonly raw: Uint8Array
  state: 'pending' | 'mined' | 'failed'
  block: number
  reason: string
}

const CONFIRMATIONS = 3
const SETTLED_CONFIRMATIONS = 20

/** A chain that a test controls: it mines, drops, reorganizes and rejects transactions, and loses results. */
export class ScriptedChain implements Anchor {
  readonly info: AnchorInfo
  readonly funds = null
  readonly #known = new Map<string, Transaction>()
  /** The first block that each reorganization replaced. */
  readonly #branches: number[] = []
  readonly #faults = new Map<Step, ('before' | 'after')[]>()
  readonly prepared: { readonly checkpoint: string; readonly replaces: readonly string[] }[] = []
  readonly broadcasts: string[] = []
  height = 0
  /** While true it rejects a transaction that it already has, as some nodes do. */
  rejectsKnown = false
  /** While true every call fails. */
  isDown = false
  isClosed = false
  /** While true pending transactions are `stuck` and not mined. */
  isStuck = false
  /** While true it has deleted its blocks. */
  isPruned = false
  /** While true it rejects every transaction. */
  rejectsAll = false
  /** What `findForeignUse` returns. */
  foreignUse: ForeignUse | undefined
  /** The transactions that the last `findForeignUse` received. */
  ownRefs: readonly string[] = []
  #nonce = 0

  constructor(network = 'test') {
    this.info = { type: 'scripted', network, chainId: 0, assurance: 'independent' }
  }

  /** The next call of a step fails: before it took effect, or after it, with its result lost. */
  fail(step: Step, fault: 'before' | 'after'): void {
    const faults = this.#faults.get(step) ?? []
    this.#faults.set(step, [...faults, fault])
  }

  async prepare({ checkpoint, replaces = [] }: Parameters<Anchor['prepare']>[0]): Promise<PreparedAnchor> {
    return this.#attempt('prepare', () => {
      this.prepared.push({ checkpoint: Buffer.from(checkpoint).toString(), replaces: replaces.map(({ ref }) => ref) })
      const raw = concatBytes(u64(this.#nonce++), checkpoint)
      return { ref: refOf(raw), raw }
    })
  }

  async broadcast(raw: Uint8Array): Promise<void> {
    this.#attempt('broadcast', () => {
      const ref = refOf(raw)
      this.broadcasts.push(ref)
      if (this.rejectsAll) throw new RegistryError('ANCHOR_FAILED', 'underpriced')
      if (this.rejectsKnown && this.#known.has(ref)) throw new RegistryError('ANCHOR_FAILED', 'already known')
      if (!this.#known.has(ref)) this.#known.set(ref, { raw, state: 'pending', block: 0, reason: '' })
    })
  }

  async status(transactions: readonly PreparedAnchor[]): Promise<readonly AnchorStatus[]> {
    return this.#attempt('status', () => transactions.map(({ ref }) => this.#statusOf(this.#known.get(ref))))
  }

  async findForeignUse(own: AsyncIterable<PreparedAnchor>, confirmed: number): Promise<ForeignUse | undefined> {
    const refs: string[] = []
    for await (const { ref } of own) refs.push(ref)
    this.ownRefs = refs
    return (this.foreignUse?.uses ?? 0) > confirmed ? this.foreignUse : undefined
  }

  async close(): Promise<void> {
    this.isClosed = true
  }

  /** Adds blocks. The first one includes the pending transactions. */
  mine(blocks = 1): void {
    for (const transaction of this.#known.values())
      if (transaction.state === 'pending' && !this.isStuck)
        Object.assign(transaction, { state: 'mined', block: this.height + 1 })
    this.height += blocks
  }

  /** Removes the last blocks, and forgets their transactions. */
  reorganize(blocks: number): void {
    this.height -= blocks
    this.#branches.push(this.height + 1)
    for (const [ref, transaction] of this.#known)
      if (transaction.state === 'mined' && transaction.block > this.height) this.#known.delete(ref)
  }

  /** Forgets a transaction, as a full mempool does. */
  drop(ref: string): void {
    this.#known.delete(ref)
  }

  /** Makes a transaction fail: it can never be included. */
  kill(ref: string): void {
    const transaction = this.#known.get(ref)
    if (transaction !== undefined) Object.assign(transaction, { state: 'failed', reason: 'nonce too low' })
  }

  /** How many reorganizations replaced this block or one before it. Part of its hash. */
  #branchAt(block: number): number {
    return this.#branches.filter((first) => first <= block).length
  }

  /** The number of transactions in blocks. */
  get mined(): number {
    return [...this.#known.values()].filter(({ state }) => state === 'mined').length
  }

  /** The blocks that contain these transactions. */
  blocksOf(transactions: readonly { readonly ref: string }[]): readonly number[] {
    const known = transactions.map(({ ref }) => this.#known.get(ref))
    return known.flatMap((each) => (each?.state === 'mined' ? [each.block] : []))
  }

  #statusOf(transaction: Transaction | undefined): AnchorStatus {
    if (transaction === undefined) return { state: 'unknown' }
    if (transaction.state === 'pending') return { state: 'pending', stuck: this.isStuck }
    if (transaction.state === 'failed') return { state: 'failed', reason: transaction.reason }
    if (this.isPruned) return { state: 'failed', reason: 'the block is deleted', isPruned: true }
    const confirmations = this.height - transaction.block + 1
    const inclusion = {
      blockNumber: transaction.block,
      blockHash: `0x${toHex(sha256Of(u64(this.#branchAt(transaction.block)), u64(transaction.block)))}`,
      blockTime: transaction.block * 1000,
      confirmations,
    }
    return confirmations >= CONFIRMATIONS
      ? {
          state: 'confirmed',
          proof: Uint8Array.of(transaction.block),
          settled: confirmations >= SETTLED_CONFIRMATIONS,
          ...inclusion,
        }
      : { state: 'included', ...inclusion }
  }

  #attempt<T>(step: Step, act: () => T): T {
    const fault = this.isDown ? 'before' : this.#faults.get(step)?.shift()
    if (fault === 'before') throw new RegistryError('ANCHOR_FAILED', `Injected: ${step} failed before it took effect`)
    const result = act()
    if (fault === 'after') throw new RegistryError('ANCHOR_FAILED', `Injected: the result of ${step} was lost`)
    return result
  }
}

const refOf = (raw: Uint8Array): string => `0x${toHex(sha256(raw))}`

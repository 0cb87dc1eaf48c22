import type { KeyObject } from 'node:crypto'
import { resolve } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { isRegistryError, RegistryError } from '../../core/errors.ts'
import type { Anchor, AnchorInfo, BlockInclusion, AnchorStatus, Clock, PreparedAnchor } from '../../core/ports.ts'
import { errnoOf, nodeFiles, type FileOperations } from '../files/durable.ts'
import { blockOf, formatBlock, MAX_BLOCK_TRANSACTIONS, parseBlock, signHash, type LedgerBlock } from './block.ts'
import { openFiles, type OpenedLedger } from './opening.ts'
import { newTransaction, parseRaw, rawOf, type Transaction } from './transaction.ts'

export interface LocalLedgerOptions {
  /** Default: the system's. */
  readonly clock?: Clock
  /** Length of a block, fixed when the ledger is begun. Default: 1,000 ms. */
  readonly blockTimeMs?: number
  /** A transaction is confirmed with so many, its own block counted. Default: 3. */
  readonly confirmations?: number
  readonly files?: FileOperations
}

/**
 * Opens the ledger of a directory, or begins one. It is kept and signed by the operator alone, so it proves nothing against the operator: it is
 * no blockchain. A last line that a crash cut short is removed. The directory belongs to one process.
 * Throws `CONFIG_ERROR` where it cannot be used, `CORRUPT` where a line is not what was written.
 */
export async function openLocalLedger(directory: string, options: LocalLedgerOptions = {}): Promise<LocalLedger> {
  const { clock = systemClock, blockTimeMs = 1000, confirmations = 3, files = nodeFiles } = options
  for (const [name, value] of Object.entries({ blockTimeMs, confirmations }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new RegistryError('CONFIG_ERROR', `${name} of the local ledger takes an integer from 1, not ${value}`)
  const root = resolve(directory)
  const opened = await openFiles(files, root, { blockTimeMs, now: clock.now() }).catch((error: unknown) => {
    if (isRegistryError(error)) throw error
    const reason = errnoOf(error) ?? String(error)
    throw new RegistryError(
      'CONFIG_ERROR',
      `The ledger directory ${root} cannot be used (${reason}): it must be a writable directory`,
      {
        cause: error,
      },
    )
  })
  if (opened.chain.opening.blockTimeMs === blockTimeMs) return new LocalLedger(clock, confirmations, opened)
  await opened.file.close()
  throw new RegistryError(
    'CONFIG_ERROR',
    `The ledger in ${root} has blocks of ${opened.chain.opening.blockTimeMs} ms, not ${blockTimeMs}: open it so, or begin another one elsewhere`,
  )
}

interface Group {
  readonly transactions: Map<string, Transaction>
  readonly written: Promise<void>
}

/**
 * An append-only, hash-linked, signed file of blocks (see `block.ts`). Time alone makes blocks: the ledger's height is
 * floor((now − genesis) / block time), and never falls, whatever the clock does. Only blocks with transactions are written; one that would
 * share its height with the last one takes the next height. Confirmations are height − block's height + 1.
 */
export class LocalLedger implements Anchor {
  readonly info: AnchorInfo = { type: 'local', network: 'local', chainId: 0, assurance: 'operator' }
  /** Bytes of an unfinished line that opening cut off, 0 where there were none. */
  readonly mendedBytes: number
  readonly #clock: Clock
  readonly #confirmations: number
  readonly #ledger: Omit<OpenedLedger, 'key'>
  readonly #key: KeyObject
  #height = 0
  /** What the next block takes. */
  #group: Group | undefined
  #writing: Promise<void> = Promise.resolve()
  #closed = false

  constructor(clock: Clock, confirmations: number, { key, ...ledger }: OpenedLedger) {
    this.#clock = clock
    this.#confirmations = confirmations
    this.#key = key
    this.#ledger = ledger
    this.mendedBytes = ledger.mendedBytes
  }

  /** `replaces` needs nothing here: no transaction is ever stuck, and two for one checkpoint do no harm. */
  async prepare(
    { checkpoint }: { readonly checkpoint: Uint8Array; readonly replaces?: readonly PreparedAnchor[] },
    signal?: AbortSignal,
  ): Promise<PreparedAnchor> {
    this.#assertOpen(signal)
    const transaction = newTransaction(checkpoint)
    return { ref: transaction.hash, raw: rawOf(transaction) }
  }

  /** Answers when the block with the transaction is synced. Those that come while a block is written share the next. */
  async broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.#assertOpen(signal)
    const transaction = parseRaw(raw)
    if (this.#group === undefined || this.#group.transactions.size >= MAX_BLOCK_TRANSACTIONS)
      this.#group = this.#nextGroup()
    this.#group.transactions.set(transaction.hash, transaction)
    await this.#group.written
  }

  async status(
    transactions: readonly Pick<PreparedAnchor, 'ref'>[],
    signal?: AbortSignal,
  ): Promise<readonly AnchorStatus[]> {
    const statuses: AnchorStatus[] = []
    for (const { ref } of transactions) {
      this.#assertOpen(signal)
      statuses.push(await this.#statusOf(ref))
    }
    return statuses
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#writing
    await this.#ledger.file.close()
  }

  #assertOpen(signal: AbortSignal | undefined): void {
    if (this.#closed) throw new RegistryError('CLOSED', 'The local ledger is closed')
    signal?.throwIfAborted()
  }

  #nextGroup(): Group {
    const transactions = new Map<string, Transaction>()
    const written = this.#writing.then(() => {
      if (this.#group?.transactions === transactions) this.#group = undefined
      return this.#write(transactions)
    })
    this.#writing = written.catch(() => undefined)
    return { transactions, written }
  }

  async #write(group: ReadonlyMap<string, Transaction>): Promise<void> {
    const transactions: Transaction[] = []
    for (const transaction of group.values())
      if ((await this.#find(transaction.hash)) === undefined) transactions.push(transaction)
    if (transactions.length > 0) await this.#append(transactions).catch(asAnchorFailed('written'))
  }

  async #append(transactions: readonly Transaction[]): Promise<void> {
    const { chain, file, index } = this.#ledger
    const block = blockOf({
      height: Math.max(this.#currentHeight(), chain.last.height + 1),
      time: Math.max(this.#clock.now(), chain.last.time),
      previous: chain.last.hash,
      transactions,
    })
    const offset = await file.append(formatBlock({ content: block, signature: signHash(block.hash, this.#key) }))
    chain.add(block)
    for (const { hash } of transactions) index.add(hash, offset)
  }

  #currentHeight(): number {
    const { chain } = this.#ledger
    const passed = Math.floor((this.#clock.now() - chain.opening.genesis) / chain.opening.blockTimeMs)
    this.#height = Math.max(this.#height, passed, chain.last.height)
    return this.#height
  }

  async #statusOf(ref: string): Promise<AnchorStatus> {
    const found = await this.#find(ref)
    if (!found) return { state: 'unknown' }
    const { block, line } = found
    const place: BlockInclusion = {
      blockNumber: block.height,
      blockHash: block.hash,
      blockTime: block.time,
      confirmations: this.#currentHeight() - block.height + 1,
    }
    return place.confirmations >= this.#confirmations
      ? { state: 'confirmed', ...place, proof: line, settled: true }
      : { state: 'included', ...place }
  }

  /** The block that holds the transaction, read from the file and checked against its hashes again. */
  async #find(ref: string): Promise<{ readonly block: LedgerBlock; readonly line: Uint8Array } | undefined> {
    for (const offset of this.#ledger.index.find(ref)) {
      const { bytes: line } = await this.#ledger.file.lineAt(offset).catch(asAnchorFailed('read'))
      const block = readBack(line, offset)
      if (block.transactions.some(({ hash }) => hash === ref)) return { block, line }
    }
    return undefined
  }
}

function readBack(line: Uint8Array, offset: number): LedgerBlock {
  try {
    return parseBlock(line).content
  } catch (cause) {
    throw new RegistryError(
      'CORRUPT',
      `The ledger's block at byte ${offset} is not what was written: restore the file from a backup`,
      {
        cause,
      },
    )
  }
}

const asAnchorFailed =
  (what: 'read' | 'written') =>
  (error: unknown): never => {
    if (isRegistryError(error)) throw error
    const reason = errnoOf(error) ?? String(error)
    throw new RegistryError('ANCHOR_FAILED', `The local ledger could not be ${what} (${reason}); check the disk`, {
      cause: error,
    })
  }

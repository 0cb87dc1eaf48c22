import { resolve } from 'node:path'
import {
  isRegistryError,
  RegistryError,
  systemClock,
  toHex,
  type Anchor,
  type AnchorInfo,
  type AnchorStatus,
  type BlockInclusion,
  type Clock,
  type PreparedAnchor,
} from '../kit/index.ts'
import { nodeFiles, type FileOperations } from '../files/durable.ts'
import { causeAndRemedy } from '../files/errors.ts'
import {
  decodeTransaction,
  encodeTransaction,
  formatBlock,
  MAX_BLOCK_TRANSACTIONS,
  parseBlock,
  type LedgerBlock,
  type Transaction,
} from '../../core/verify/chain/ledger-block.ts'
import type { Chain } from './chain.ts'
import { newTransaction, signBlock } from './signing.ts'
import { openLedgerFiles, rethrowAsCorrupt, type LedgerFiles } from './ledger-files.ts'

/** Settings of a local ledger. */
export interface LocalLedgerOptions {
  /** Default: the system's clock. */
  readonly clock?: Clock
  /** Length of a block in ms, from 1. Fixed when the ledger is created. Default: 1,000. */
  readonly blockTimeMs?: number
  /** A transaction is confirmed once this many blocks (including its own) are on top, from 1. Default: 3. */
  readonly confirmations?: number
  /** File operations, which tests replace to inject faults. Default: those of Node. */
  readonly files?: FileOperations
}

/**
 * Opens the ledger in a directory, or creates one. The operator alone keeps and signs it, so it proves nothing against
 * the operator: it is not a blockchain. Removes a last line that a crash cut short.
 *
 * @param directory must belong to one process; it is created (0700) if it is missing
 * @param options clock, block time and confirmations
 * @returns the ledger; close it at the end
 * @throws `CONFIG_ERROR` if an option or the directory cannot be used, or if the ledger has another block time
 * @throws `CORRUPT` if a line is not what was written
 * @example
 * const anchor = await openLocalLedger('data/ledger')
 */
export async function openLocalLedger(directory: string, options: LocalLedgerOptions = {}): Promise<LocalLedger> {
  const { clock = systemClock, blockTimeMs = 1000, confirmations = 3, files = nodeFiles } = options
  for (const [name, value] of Object.entries({ blockTimeMs, confirmations }))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new RegistryError('CONFIG_ERROR', `${name} of the local ledger must be an integer from 1, got ${value}`)
  const root = resolve(directory)
  const ledgerFiles = await openLedgerFiles(files, root, { blockTimeMs, genesis: clock.now() }).catch(
    rethrowAs('CONFIG_ERROR', `The directory ${root} of the local ledger cannot be used`),
  )
  const { blockTimeMs: actualMs } = ledgerFiles.chain.opening
  if (actualMs === blockTimeMs) return new LocalLedger(ledgerFiles, clock, confirmations)
  await ledgerFiles.file.close()
  throw new RegistryError(
    'CONFIG_ERROR',
    `The ledger in ${root} has a block time of ${actualMs} ms, not ${blockTimeMs} ms: open it with ${actualMs}, or use another directory for a new ledger`,
  )
}

interface PendingBlock {
  /** By hash. */
  readonly transactions: Map<string, Transaction>
  /** Settles once the block is durable. */
  readonly written: Promise<void>
}

/**
 * An append-only, hash-linked, signed file of blocks (its format is in `core/verify/chain/ledger-block.ts`). Blocks
 * follow from time alone: the ledger's height is floor((now − genesis) / block time), and never decreases, whatever the
 * clock does. Only blocks with transactions are written. A block that would have the height of the last written block
 * gets the next height. Confirmations are height − block's height + 1.
 */
export class LocalLedger implements Anchor {
  readonly info: AnchorInfo
  /** Size in bytes of an unfinished last line that was removed when the ledger was opened, else 0. */
  readonly truncatedBytes: number
  /** Input of the last transaction at the open: the newest checkpoint. `undefined` if there was none. */
  readonly newestInput: Uint8Array | undefined
  readonly #clock: Clock
  readonly #confirmations: number
  readonly #files: LedgerFiles
  #tip: Chain['tip']
  #height = 0
  /** The block that is written next. */
  #pending: PendingBlock | undefined
  #lastWrite: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(files: LedgerFiles, clock: Clock, confirmations: number) {
    const account = toHex(files.chain.opening.publicKey)
    this.info = { type: 'local', network: 'local', chainId: 0, assurance: 'operator', account }
    this.#clock = clock
    this.#confirmations = confirmations
    this.#files = files
    this.#tip = files.chain.tip
    this.truncatedBytes = files.truncatedBytes
    this.newestInput = files.chain.newestInput
  }

  /**
   * Ignores `replaces`: no transaction is ever stuck, and two for the same checkpoint do no harm. Throws
   * `VALIDATION_ERROR` if the checkpoint is longer than 16,384 bytes.
   */
  async prepare(
    { checkpoint }: { readonly checkpoint: Uint8Array; readonly replaces?: readonly PreparedAnchor[] },
    signal?: AbortSignal,
  ): Promise<PreparedAnchor> {
    this.#assertOpen(signal)
    const transaction = newTransaction(checkpoint)
    return { ref: transaction.hash, raw: encodeTransaction(transaction) }
  }

  /**
   * Returns once the transaction's block is durable. Transactions that arrive while a block is written share the next
   * one. Throws `VALIDATION_ERROR` for bytes that `prepare` did not return, `ANCHOR_FAILED` if the disk fails.
   */
  async broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.#assertOpen(signal)
    const transaction = decodeTransaction(raw)
    if (this.#pending === undefined || this.#pending.transactions.size >= MAX_BLOCK_TRANSACTIONS)
      this.#pending = this.#scheduleBlock()
    this.#pending.transactions.set(transaction.hash, transaction)
    await this.#pending.written
  }

  /** Throws `CORRUPT` if a block's line has changed on disk, `ANCHOR_FAILED` if it cannot be read. */
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

  /** Only this process writes the ledger, and `fsck` compares it with the records. */
  async findForeignUse(): Promise<undefined> {
    return undefined
  }

  /** Waits for the block that is being written. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#lastWrite
    await this.#files.file.close()
  }

  #assertOpen(signal: AbortSignal | undefined): void {
    if (this.#isClosed) throw new RegistryError('CLOSED', 'The local ledger is closed')
    signal?.throwIfAborted()
  }

  #scheduleBlock(): PendingBlock {
    const transactions = new Map<string, Transaction>()
    const written = this.#lastWrite.then(() => {
      if (this.#pending?.transactions === transactions) this.#pending = undefined
      return this.#writeNew(transactions)
    })
    this.#lastWrite = written.catch(() => undefined)
    return { transactions, written }
  }

  /** Writes those that are not in a block yet. */
  async #writeNew(candidates: ReadonlyMap<string, Transaction>): Promise<void> {
    const transactions: Transaction[] = []
    for (const transaction of candidates.values())
      if ((await this.#findBlock(transaction.hash)) === undefined) transactions.push(transaction)
    if (transactions.length > 0)
      await this.#writeBlock(transactions).catch(rethrowAs('ANCHOR_FAILED', 'The local ledger cannot be written'))
  }

  async #writeBlock(transactions: readonly Transaction[]): Promise<void> {
    const { file, index, key } = this.#files
    const height = Math.max(this.#currentHeight(), this.#tip.height + 1)
    const time = Math.max(this.#clock.now(), this.#tip.time)
    const block = signBlock({ height, time, previous: this.#tip.hash, transactions }, key)
    const offset = await file.append(formatBlock(block))
    this.#tip = block
    for (const { hash } of transactions) index.add(hash, offset)
  }

  #currentHeight(): number {
    const { genesis, blockTimeMs } = this.#files.chain.opening
    const elapsedBlocks = Math.floor((this.#clock.now() - genesis) / blockTimeMs)
    this.#height = Math.max(this.#height, elapsedBlocks, this.#tip.height)
    return this.#height
  }

  async #statusOf(ref: string): Promise<AnchorStatus> {
    const stored = await this.#findBlock(ref)
    if (stored === undefined) return { state: 'unknown' }
    const { block, line } = stored
    const inclusion: BlockInclusion = {
      blockNumber: block.height,
      blockHash: block.hash,
      blockTime: block.time,
      confirmations: this.#currentHeight() - block.height + 1,
    }
    return inclusion.confirmations >= this.#confirmations
      ? { state: 'confirmed', ...inclusion, proof: line, settled: true }
      : { state: 'included', ...inclusion }
  }

  /** The block with the transaction and its line, read from the file and checked against its hashes again. */
  async #findBlock(ref: string): Promise<{ readonly block: LedgerBlock; readonly line: Uint8Array } | undefined> {
    const { file, index } = this.#files
    for (const offset of index.find(ref)) {
      const { bytes: line } = await file
        .lineAt(offset)
        .catch(rethrowAs('ANCHOR_FAILED', 'The local ledger cannot be read'))
      const block = parseStoredBlock(line)
      if (block.transactions.some(({ hash }) => hash === ref)) return { block, line }
    }
    return undefined
  }
}

function parseStoredBlock(line: Uint8Array): LedgerBlock {
  try {
    return parseBlock(line)
  } catch (error) {
    return rethrowAsCorrupt(error)
  }
}

/** For `catch`: gives an error of the file system a code and says what failed. Passes registry errors through. */
const rethrowAs =
  (code: 'CONFIG_ERROR' | 'ANCHOR_FAILED', problem: string) =>
  (cause: unknown): never => {
    if (isRegistryError(cause)) throw cause
    throw new RegistryError(code, `${problem}: ${causeAndRemedy(cause)}`, { cause })
  }

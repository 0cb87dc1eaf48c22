import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import {
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
import { rethrowAs } from '../files/errors.ts'
import {
  blockHash,
  decodeTransaction,
  encodeTransaction,
  formatBlock,
  MAX_INPUT_BYTES,
  NONCE_BYTES,
  signedBytes,
  transactionOf,
  type LedgerBlock,
  type Transaction,
} from '../../core/verify/chain/ledger-block.ts'
import { openFiles, type LedgerFiles } from './opening.ts'

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
  const opened = await openFiles(files, root, { blockTimeMs, genesis: clock.now() }).catch(
    rethrowAs('CONFIG_ERROR', `The directory ${root} of the local ledger cannot be used`),
  )
  const { blockTimeMs: actualMs } = opened.chain.opening
  if (actualMs === blockTimeMs) return new LocalLedger(opened, clock, confirmations)
  await opened.file.close()
  throw new RegistryError(
    'CONFIG_ERROR',
    `The ledger in ${root} has a block time of ${actualMs} ms, not ${blockTimeMs} ms: open it with ` +
      `${actualMs}, or use another directory for a new ledger`,
  )
}

/**
 * An append-only, hash-linked, signed file of blocks (its format is in `core/verify/chain/ledger-block.ts`). Blocks
 * follow from time alone: the ledger's height is floor((now − genesis) / block time). It never decreases: while the
 * clock is behind the last block, the height goes on by one each block time, so that no transaction waits until the
 * clock is there again. Only blocks with a transaction are written. A block that would have the height of the last
 * written block gets the next height. Confirmations are height − block's height + 1.
 *
 * A confirmed transaction is settled at once. So it remembers only the newest transactions.
 */
export class LocalLedger implements Anchor {
  readonly info: AnchorInfo
  readonly funds = null
  /** Input of the last transaction at the open: the newest checkpoint. `undefined` if there was none. */
  readonly newestInput: Uint8Array | undefined
  readonly #clock: Clock
  readonly #confirmations: number
  readonly #files: LedgerFiles
  #tip: LedgerFiles['chain']['tip']
  /** The height at a time, from which it goes on if the clock is set back. */
  #since: { readonly height: number; readonly time: number }
  #lastWrite: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(files: LedgerFiles, clock: Clock, confirmations: number) {
    const account = toHex(files.signer.publicKey)
    this.info = { type: 'local', network: 'local', chainId: 0, assurance: 'operator', account }
    this.newestInput = files.chain.newestInput
    this.#clock = clock
    this.#confirmations = confirmations
    this.#files = files
    this.#tip = files.chain.tip
    this.#since = { height: this.#tip.height, time: clock.now() }
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
    if (checkpoint.length > MAX_INPUT_BYTES)
      throw new RegistryError(
        'VALIDATION_ERROR',
        `An input of the local ledger must have at most ${MAX_INPUT_BYTES} bytes, got ${checkpoint.length}`,
      )
    const transaction = transactionOf(new Uint8Array(randomBytes(NONCE_BYTES)), checkpoint)
    return { ref: transaction.hash, raw: encodeTransaction(transaction) }
  }

  /**
   * Returns once the transaction's block is durable. Throws `VALIDATION_ERROR` for bytes that `prepare` did not return,
   * `ANCHOR_FAILED` if the disk fails.
   */
  async broadcast(raw: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.#assertOpen(signal)
    const transaction = decodeTransaction(raw)
    const written = this.#lastWrite.then(() => this.#write(transaction))
    this.#lastWrite = written.catch(() => undefined)
    await written.catch(rethrowAs('ANCHOR_FAILED', 'The local ledger cannot be written'))
  }

  /** A transaction before the newest 64 is `unknown`. */
  async status(
    transactions: readonly Pick<PreparedAnchor, 'ref'>[],
    signal?: AbortSignal,
  ): Promise<readonly AnchorStatus[]> {
    this.#assertOpen(signal)
    return transactions.map(({ ref }) => this.#statusOf(ref))
  }

  /** Only this process writes the ledger, and `fsck` compares it with the records. */
  async findForeignUse(_: unknown, _confirmed: number, signal?: AbortSignal): Promise<undefined> {
    this.#assertOpen(signal)
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

  /** Writes the transaction in a block of its own, unless it is in one. */
  async #write(transaction: Transaction): Promise<void> {
    const { file, signer, known } = this.#files
    if (known.get(transaction.hash) !== undefined) return
    const { height, time, hash: previous } = this.#tip
    const content = {
      height: Math.max(this.#currentHeight(), height + 1),
      time: Math.max(this.#clock.now(), time),
      previous,
      transactions: [transaction],
    }
    const hash = blockHash(content)
    const block: LedgerBlock = { ...content, hash, signature: signer.sign(signedBytes(hash)) }
    const line = formatBlock(block)
    await file.append(line)
    this.#tip = block
    known.set(transaction.hash, { block, line })
  }

  #currentHeight(): number {
    const { genesis, blockTimeMs } = this.#files.chain.opening
    const now = this.#clock.now()
    const { height: before, time } = this.#since
    const blocksIn = (ms: number): number => Math.floor(ms / blockTimeMs)
    const grown = now < this.#tip.time ? blocksIn(now - time) : 0
    const height = Math.max(before + grown, before, this.#tip.height, blocksIn(now - genesis))
    if (height > before || now < time) this.#since = { height, time: now }
    return height
  }

  #statusOf(ref: string): AnchorStatus {
    const written = this.#files.known.get(ref)
    if (written === undefined) return { state: 'unknown' }
    const { block, line } = written
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
}

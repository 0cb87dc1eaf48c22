import { RegistryError } from '../core/errors.ts'
import { logKeys } from '../core/log/keys.ts'
import type { Anchor, ForeignUse, Logger, PreparedAnchor, RecordStore } from '../core/ports/index.ts'
import { decodeRecord } from '../core/store/codec.ts'
import { listRecords } from '../core/store/read.ts'
import type { Anchorer } from './anchorer.ts'
import { isSameChain, preparedOf } from './anchor-record.ts'

interface AccountGuardOptions {
  readonly anchorer: Pick<Anchorer, 'step' | 'observe'>
  readonly anchor: Anchor
  readonly records: RecordStore
  readonly logger: Logger
}

/**
 * Runs the anchorer once it is sure that only this registry uses its account. If the account has sent a transaction
 * that no anchor on record explains, another instance uses the same account, or records were lost: then nothing is
 * anchored.
 */
export class AccountGuard {
  readonly #options: AccountGuardOptions
  #isChecked = false
  #foreignUse: ForeignUse | undefined

  constructor(options: AccountGuardOptions) {
    this.#options = options
  }

  /** Whether the account was used by another program, so that nothing is anchored. */
  get hasConflict(): boolean {
    return this.#foreignUse !== undefined
  }

  async step(signal: AbortSignal): Promise<number> {
    if (!this.#isChecked) await this.#check(signal)
    return this.#options.anchorer.step(signal)
  }

  async observe(): Promise<unknown> {
    return this.#options.anchorer.observe()
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { anchor, anchorer, logger } = this.#options
    const foreignUse = await anchor.findForeignUse(this.#ownTransactions(), signal)
    if (foreignUse === undefined) {
      this.#foreignUse = undefined
      this.#isChecked = true
      return
    }
    if (this.#foreignUse?.message !== foreignUse.message)
      logger.error({ chain: anchor.info }, `${foreignUse.message}. ${REMEDY} ${foreignUse.confirmation}`)
    this.#foreignUse = foreignUse
    await anchorer.observe()
    throw new RegistryError(
      'ANCHOR_FAILED',
      `${foreignUse.message}: nothing is anchored until the operator confirms it`,
    )
  }

  /** Every transaction that was prepared on this chain, also those that were replaced. */
  async *#ownTransactions(): AsyncGenerator<PreparedAnchor, void, undefined> {
    const { records, anchor } = this.#options
    for await (const entry of listRecords(records, logKeys.anchors())) {
      const record = decodeRecord(entry)
      if (isSameChain(record.info, anchor.info)) yield* record.transactions.map(preparedOf)
    }
  }
}

const REMEDY =
  'Either another instance of this registry uses the account, or these records were restored from an old backup, or ' +
  'another program uses the key. Stop the other instance. If there is none,'

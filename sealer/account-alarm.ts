import { isSameAccount } from '../core/log/attestation-rules.ts'
import { logKeys } from '../core/log/keys.ts'
import type { Anchor, ForeignUse, Logger, PreparedAnchor, RecordStore } from '../core/ports/index.ts'
import { decodeRecord } from '../core/store/codec.ts'
import { putRecord } from '../core/store/entries.ts'
import { listRecords, readAll } from '../core/store/read.ts'
import { isSameChain, preparedOf } from './anchor-record.ts'

interface Account {
  readonly anchor: Anchor
  readonly records: RecordStore
}

/**
 * Tells, once after the start, if the account of the anchors has sent a transaction that no anchor on record explains:
 * another instance of the registry uses it, or records were lost. Nothing else depends on it. The alarm ends when the
 * operator confirms such transactions, in this process or in another one of the same records.
 */
export class AccountAlarm {
  readonly #account: Account
  readonly #logger: Logger
  #isChecked = false
  #foreignUse: ForeignUse | undefined

  constructor({ logger, ...account }: Account & { readonly logger: Logger }) {
    this.#account = account
    this.#logger = logger
  }

  get isRaised(): boolean {
    return this.#foreignUse !== undefined
  }

  /** Looks at the account until that has succeeded once, and then only whether an alarm was confirmed. */
  async check(signal: AbortSignal): Promise<void> {
    if (!this.#isChecked) await this.#look(signal)
    else if (this.#foreignUse !== undefined && (await confirmedUses(this.#account)) >= this.#foreignUse.uses)
      this.#foreignUse = undefined
  }

  async #look(signal: AbortSignal): Promise<void> {
    const foreignUse = await foreignUseOf(this.#account, signal)
    this.#isChecked = true
    this.#foreignUse = foreignUse
    if (foreignUse === undefined) return
    this.#logger.error({ chain: this.#account.anchor.info }, `${foreignUse.message}. ${REMEDY}`)
  }
}

/**
 * Confirms what the account of the anchors has sent until now, so that it raises no alarm any more.
 *
 * @returns what was confirmed; `undefined` if every transaction is on record or was confirmed before
 * @throws `ANCHOR_FAILED`
 */
export async function confirmForeignUse(account: Account, signal: AbortSignal): Promise<ForeignUse | undefined> {
  const foreignUse = await foreignUseOf(account, signal)
  if (foreignUse === undefined) return undefined
  const { records, anchor } = account
  const confirmed = { info: anchor.info, uses: foreignUse.uses }
  await records.commit({ writes: [putRecord(logKeys.confirmedUses(), confirmed)] })
  return foreignUse
}

const foreignUseOf = async (account: Account, signal: AbortSignal): Promise<ForeignUse | undefined> =>
  account.anchor.findForeignUse(ownTransactions(account), await confirmedUses(account), signal)

/** How many transactions of this account the operator has confirmed. */
async function confirmedUses({ records, anchor }: Account): Promise<number> {
  const confirmed = decodeRecord((await readAll(records, [logKeys.confirmedUses()]))[0])
  return confirmed !== undefined && isSameAccount(confirmed.info, anchor.info) ? confirmed.uses : 0
}

/** Every transaction that was prepared on this chain, also those that were replaced. */
async function* ownTransactions({ records, anchor }: Account): AsyncGenerator<PreparedAnchor, void, undefined> {
  for await (const entry of listRecords(records, logKeys.anchors())) {
    const record = decodeRecord(entry)
    if (isSameChain(record.info, anchor.info)) yield* record.transactions.map(preparedOf)
  }
}

const REMEDY =
  'Either another instance of this registry uses the account, or these records were restored from an old backup, or ' +
  'another program uses the key. Stop the other instance. If there is none, confirm it: evidence-registry adopt ' +
  'transactions'

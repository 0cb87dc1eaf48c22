import { Background } from '../background.ts'
import type { Clock, Logger, RecordStore } from '../ports/index.ts'
import type { RecordKey } from '../store/keys.ts'
import { decodeRecord } from '../store/codec.ts'
import { putRecord } from '../store/entries.ts'
import { readAll } from '../store/read.ts'
import type { LastUseRecord } from '../store/records.ts'

const MINUTE_MS = 60_000
/** Records of one commit. */
const COMMIT_LENGTH = 500

export interface ActivityStores {
  readonly records: RecordStore
  readonly clock: Clock
  readonly logger: Logger
  /** Nothing is noted in a read-only registry. */
  readonly isReadOnly: boolean
}

/** The key of the last use of what has this id. */
type UseKey = (companyId: string, id: string) => RecordKey<LastUseRecord>

interface Use {
  readonly companyId: string
  readonly id: string
  /** ms since 1970. */
  readonly minute: number
}

/**
 * When each source system, or each share, was last used. Uses are collected in memory and written once a minute, so
 * that a request costs no write.
 */
export class LastUses {
  readonly #stores: ActivityStores
  readonly #keyOf: UseKey
  readonly #task: Background
  #uses = new Map<string, Use>()

  constructor(stores: ActivityStores, keyOf: UseKey) {
    this.#stores = stores
    this.#keyOf = keyOf
    this.#task = new Background({
      ...stores,
      failure: 'the last uses of keys and shares could not be written; it is tried again',
      retryMs: () => MINUTE_MS,
      run: () => this.#write(),
    })
  }

  note(companyId: string, id: string): void {
    const { isReadOnly, clock } = this.#stores
    if (isReadOnly) return
    const now = clock.now()
    const minute = now - (now % MINUTE_MS)
    if (this.#uses.get(id)?.minute === minute) return
    this.#uses.set(id, { companyId, id, minute })
    this.#task.request(MINUTE_MS)
  }

  /** The last use that may not be written yet, ms since 1970. */
  noted(id: string): number | undefined {
    return this.#uses.get(id)?.minute
  }

  /** Writes what was noted. */
  async stop(): Promise<void> {
    await this.#task.runNow()
    await this.#task.stop()
  }

  async #write(): Promise<undefined> {
    const uses = [...this.#uses.values()]
    for (let i = 0; i < uses.length; i += COMMIT_LENGTH) await this.#writeSome(uses.slice(i, i + COMMIT_LENGTH))
    // Only now, so that `noted` returns them until they can be read.
    for (const use of uses) if (this.#uses.get(use.id) === use) this.#uses.delete(use.id)
  }

  /** Without checks: if two servers write the same record, both values are right to the minute. */
  async #writeSome(uses: readonly Use[]): Promise<void> {
    const { records } = this.#stores
    const stored = await readAll(
      records,
      uses.map(({ companyId, id }) => this.#keyOf(companyId, id)),
    )
    const later = uses.filter(({ minute }, i) => minute > (decodeRecord(stored[i])?.at ?? 0))
    if (later.length === 0) return
    await records.commit({
      writes: later.map(({ companyId, id, minute }) => putRecord(this.#keyOf(companyId, id), { at: minute })),
    })
  }
}

import type { SourceSystemId } from '../../api/scope.ts'
import { Background } from '../../background.ts'
import type { Clock, Logger, RecordStore } from '../../ports/index.ts'
import { keys } from '../../store/keys.ts'
import { decodeRecord } from '../../store/codec.ts'
import { putRecord } from '../../store/entries.ts'
import { readAll } from '../../store/read.ts'

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

interface Use {
  readonly companyId: string
  readonly systemId: SourceSystemId
  /** ms since 1970. */
  readonly minute: number
}

/**
 * When each source system was last used. Uses are collected in memory and written once a minute, so that a request
 * costs no write.
 */
export class LastUses {
  readonly #stores: ActivityStores
  readonly #task: Background
  #uses = new Map<SourceSystemId, Use>()

  constructor(stores: ActivityStores) {
    this.#stores = stores
    this.#task = new Background({
      ...stores,
      failure: 'the last uses of keys could not be written; it is tried again',
      retryMs: () => MINUTE_MS,
      run: () => this.#write(),
    })
  }

  note(companyId: string, systemId: SourceSystemId): void {
    const { isReadOnly, clock } = this.#stores
    if (isReadOnly) return
    const now = clock.now()
    const minute = now - (now % MINUTE_MS)
    if (this.#uses.get(systemId)?.minute === minute) return
    this.#uses.set(systemId, { companyId, systemId, minute })
    this.#task.request(MINUTE_MS)
  }

  /** The last use that may not be written yet, ms since 1970. */
  noted(systemId: SourceSystemId): number | undefined {
    return this.#uses.get(systemId)?.minute
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
    for (const use of uses) if (this.#uses.get(use.systemId) === use) this.#uses.delete(use.systemId)
  }

  /** Without checks: if two servers write the same record, both values are right to the minute. */
  async #writeSome(uses: readonly Use[]): Promise<void> {
    const { records } = this.#stores
    const stored = await readAll(
      records,
      uses.map(({ companyId, systemId }) => keys.lastUse(companyId, systemId)),
    )
    const later = uses.filter(({ minute }, i) => minute > (decodeRecord(stored[i])?.at ?? 0))
    if (later.length === 0) return
    await records.commit({
      writes: later.map(({ companyId, systemId, minute }) =>
        putRecord(keys.lastUse(companyId, systemId), { at: minute }),
      ),
    })
  }
}

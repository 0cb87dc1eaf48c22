import { RegistryError } from '../errors.ts'
import type { WritesRefused } from '../api/registry.ts'
import type { RecordStore } from '../ports/index.ts'
import { decorateRecords } from '../store/decorate-records.ts'

const MESSAGES: Readonly<Record<Exclude<WritesRefused, 'CLOCK'>, string>> = {
  READ_ONLY:
    'This registry is open read-only: it serves what is recorded, and accepts no writes. To write, restore the newest ' +
    'store and start without read-only, or start a new registry',
  NO_SIGNED_HEAD:
    'This server has no signed head yet, so its registry is read-only: start it with --adopt-head FILE, where FILE is ' +
    'signed-head.json of another server, or wait until an anchor is confirmed',
}

/** Whether a registry may write. Everything that writes a record goes through `guard`. */
export class WriteAccess {
  #refused: Exclude<WritesRefused, 'CLOCK'> | null

  constructor(refused: Exclude<WritesRefused, 'CLOCK'> | null) {
    this.#refused = refused
  }

  /** Why writes are refused, `null` if they are not. */
  get refused(): Exclude<WritesRefused, 'CLOCK'> | null {
    return this.#refused
  }

  allow(): void {
    this.#refused = null
  }

  /** Throws `UNAVAILABLE` while writes are refused. */
  assertWritable(): void {
    if (this.#refused !== null) throw new RegistryError('UNAVAILABLE', MESSAGES[this.#refused])
  }

  /** The same store. Its `commit` throws `UNAVAILABLE` while writes are refused. */
  guard(records: RecordStore): RecordStore {
    if (this.#refused === null) return records
    return decorateRecords(records, {
      commit: async (commit) => {
        this.assertWritable()
        return records.commit(commit)
      },
    })
  }
}

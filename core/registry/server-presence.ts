import { randomUUID } from 'node:crypto'
import { isRegistryError } from '../errors.ts'
import type { LogIdentity } from '../log/identity.ts'
import { logKeys } from '../log/keys.ts'
import type { ServerRecord } from '../log/records.ts'
import type { Clock, Entry, Key, Logger, RecordStore, Version } from '../ports/index.ts'
import { decodeRecord, putRecord } from '../store/record-codec.ts'
import { listEntries } from '../store/read.ts'

/** How often a server writes its record. */
const ANNOUNCE_INTERVAL_MS = 5_000
/** A server whose record has not changed for so long has ended. */
const LIFE_MS = 20_000
const POLL_MS = 1_000

interface PresenceParts {
  readonly records: RecordStore
  readonly identity: LogIdentity
  readonly clock: Clock
  readonly logger: Logger
  /** Names this server for the operator. */
  readonly name: string
}

/** A version of another server's record. */
interface Sighting {
  readonly version: Version
  /** When this process first saw that version, by its own clock, ms since 1970. */
  readonly since: number
  /** This process has seen the record change, so the server was alive then. */
  readonly hasChanged: boolean
}

/**
 * Publishes which checkpoint keys this server has, and watches the records of the other servers. Each server writes its
 * record every five seconds and removes it when it stops.
 *
 * The clocks of two machines are never compared: a server is alive if its record was seen to change, and has ended if
 * the record has stayed unchanged for 20 seconds of this process's own clock.
 */
export class ServerPresence {
  readonly #parts: PresenceParts
  readonly #own = logKeys.server(randomUUID())
  readonly #sightings = new Map<Key, Sighting>()
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined

  constructor(parts: PresenceParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Writes the record of this server now. */
  async announce(): Promise<void> {
    const { records, identity, name } = this.#parts
    const current = identity.verifierKey
    const keys = [...((await identity.holds(current)) ? [current] : []), ...(await identity.pendingKeys())]
    await records.commit({ writes: [putRecord(this.#own, { name, keys } satisfies ServerRecord)] })
  }

  /**
   * The names of the other servers that run and do not have this key. Waits until it is known of each server whether it
   * still runs, and removes the records of those that have ended.
   */
  async runningWithout(verifierKey: string, signal: AbortSignal = this.#stopping.signal): Promise<readonly string[]> {
    const { records, clock } = this.#parts
    for (;;) {
      const without = (await this.#observe()).filter((entry) => !recordOf(entry).keys.includes(verifierKey))
      const running = without.filter((entry) => this.#stateOf(entry) === 'running')
      if (running.length > 0) return running.map((entry) => recordOf(entry).name)
      const ended = without.filter((entry) => this.#stateOf(entry) === 'ended')
      for (const { key, version } of ended)
        await records.commit({ checks: [{ key, version }], writes: [{ key, value: null }] })
      if (ended.length === without.length) return []
      await clock.sleep(POLL_MS, signal)
    }
  }

  /** Removes the record of this server. Never throws, because the record also becomes old. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    if (this.#running !== undefined)
      await this.#parts.records.commit({ writes: [{ key: this.#own, value: null }] }).catch(() => undefined)
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#parts
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.announce()
        await this.#observe()
      } catch (err) {
        logger.warn({ err }, 'this server could not publish which checkpoint keys it has; it tries again')
      }
      await clock.sleep(ANNOUNCE_INTERVAL_MS, signal).catch(() => undefined)
    }
  }

  /** Reads the records of the other servers and notes which of them have changed. */
  async #observe(): Promise<readonly Entry[]> {
    const { records, clock } = this.#parts
    const entries = (await listEntries(records, logKeys.servers())).filter(({ key }) => key !== this.#own)
    for (const { key, version } of entries) {
      const last = this.#sightings.get(key)
      if (last?.version !== version)
        this.#sightings.set(key, { version, since: clock.now(), hasChanged: last !== undefined })
    }
    const present = new Set(entries.map(({ key }) => key))
    for (const key of this.#sightings.keys()) if (!present.has(key)) this.#sightings.delete(key)
    return entries
  }

  #stateOf({ key }: Entry): 'running' | 'ended' | 'unknown' {
    const sighting = this.#sightings.get(key)
    if (sighting === undefined) return 'unknown'
    if (this.#parts.clock.now() - sighting.since >= LIFE_MS) return 'ended'
    return sighting.hasChanged ? 'running' : 'unknown'
  }
}

/** A record that cannot be read may be of another version: its server counts as one without keys. */
function recordOf(entry: Entry): ServerRecord {
  const { name, keys } = decodedOf(entry)
  return { name: typeof name === 'string' ? name : entry.key, keys: Array.isArray(keys) ? keys : [] }
}

function decodedOf(entry: Entry): Partial<ServerRecord> {
  try {
    return decodeRecord<Partial<ServerRecord>>(entry)
  } catch (error) {
    if (isRegistryError(error, 'CORRUPT')) return {}
    throw error
  }
}

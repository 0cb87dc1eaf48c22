import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { RegistryError } from '../../core/errors.ts'
import { keys } from '../../core/store/keys.ts'
import type { Logger, RecordStore } from '../../core/ports.ts'
import type { Config } from '../settings/config.ts'
import type { RequestCounter } from '../http/rate-limit.ts'
import { assertInstalled } from './optional-packages.ts'

/** The records that the configuration names. */
export interface OpenedRecords {
  readonly records: RecordStore
  /** Other servers may write to them. */
  readonly isShared: boolean
  readonly requestCounter?: RequestCounter
}

type RecordSettings = Pick<Config, 'records' | 'postgresUrl' | 'dataDir' | 'acceptClock'>

/** Half of what a clock may be behind the last batch: so no server, sealing, makes another refuse writes. */
const MAX_CLOCK_OFFSET_MS = 30_000

/**
 * Opens the record store, as `openStore` does, to serve from it or to check it. Throws `CONFIG_ERROR` for one that `migrate` has not
 * filled yet: a server would begin a log of its own in it.
 */
export async function openRecords(settings: RecordSettings, logger?: Logger): Promise<OpenedRecords> {
  const opened = await openStore(settings, logger)
  try {
    const [filling] = await opened.records.get([keys.filling()])
    if (filling === undefined) return opened
    throw new RegistryError(
      'CONFIG_ERROR',
      'The record store is an unfinished copy of another one: run evidence-registry migrate again, to its end',
    )
  } catch (error) {
    await opened.records.close()
    throw error
  }
}

/**
 * Opens the record store, and with it takes the data directory: a second process is kept out of that, also where the records are
 * shared. Loads only the store that is configured. Throws `STORE_LOCKED`, `CONFIG_ERROR`, `UNAVAILABLE`.
 */
async function openStore(
  { records, postgresUrl, dataDir, acceptClock }: RecordSettings,
  logger?: Logger,
): Promise<OpenedRecords> {
  const directory = resolve(dataDir)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (records === 'level') {
    const { openLevelRecords } = await import('../../adapters/level/index.ts')
    return { records: await openLevelRecords(join(directory, 'records')), isShared: false }
  }
  if (postgresUrl === undefined)
    throw new RegistryError(
      'CONFIG_ERROR',
      'EVIDENCE_RECORDS=postgres needs EVIDENCE_POSTGRES_URL, or EVIDENCE_POSTGRES_URL_FILE',
    )
  assertInstalled('pg', 'EVIDENCE_RECORDS=postgres')
  const { claimDirectory } = await import('../../adapters/files/index.ts')
  // Held until the process ends, and then free by itself.
  await claimDirectory(directory)
  const { openPostgresRecords } = await import('../../adapters/postgres/index.ts')
  const opened = await openPostgresRecords({ url: postgresUrl, ...(logger && { logger }) })
  try {
    if (!acceptClock) assertClock(Date.now() - (await opened.databaseNow()))
    return { records: opened, isShared: true, requestCounter: opened }
  } catch (error) {
    await opened.close()
    throw error
  }
}

function assertClock(offsetMs: number): void {
  if (Math.abs(offsetMs) > MAX_CLOCK_OFFSET_MS)
    throw new RegistryError(
      'CONFIG_ERROR',
      `This server's clock is ${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs > 0 ? 'ahead of' : 'behind'} the database's, and the servers of one ` +
        'registry must agree: set the clocks right, or confirm this one with EVIDENCE_ACCEPT_CLOCK=true',
    )
}

/** Throws `CONFIG_ERROR` where something of one server's own would vouch for records that others write to. */
export function assertSharable({ records, anchor, tsa }: Pick<Config, 'records' | 'anchor' | 'tsa'>): void {
  if (records === 'level') return
  for (const [variable, value] of [
    ['EVIDENCE_ANCHOR', anchor],
    ['EVIDENCE_TSA', tsa],
  ] as const)
    if (value === 'local')
      throw new RegistryError(
        'CONFIG_ERROR',
        `${variable}=local is one server's own, and EVIDENCE_RECORDS=postgres is for several: name another, or none`,
      )
}

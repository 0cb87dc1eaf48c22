import { join, resolve } from 'node:path'
import { makeDirectoryDurably } from '../../adapters/files/index.ts'
import { withRecordErrors } from '../../adapters/kit/index.ts'
import type { LevelRecords, OpenLevelOptions } from '../../adapters/level/index.ts'
import { RegistryError, type CheckedPart, type Logger, type RecordStore } from '../../core/index.ts'
import { finishErasures, hasErasuresToFinish, isUnfinishedCopy } from '../../core/ops/index.ts'
import type { Config } from '../settings/load.ts'
import { stderrLogger } from './logger.ts'
import { orClose } from './open-parts.ts'
import { namesModule, openModule } from './own-module.ts'
import { configError } from '../settings/config-error.ts'

/** The record store, and what the rest needs to know about it. */
export interface OpenedRecords {
  readonly records: RecordStore
  /** See `AppOptions.unsafeSettings`. */
  readonly unsafeSettings?: readonly string[]
}

export interface OpenRecordsOptions {
  readonly logger?: Logger
  /** As of `openLevelRecords`. */
  readonly maxOpenFiles?: number
  /** As of `openLevelRecords`. */
  readonly onCheckedPart?: (part: CheckedPart) => void
}

type RecordSettings = Pick<Config, 'records' | 'postgresUrl' | 'dataDir' | 'acceptClock' | 'takeOver'> &
  Partial<Pick<Config, 'readOnly'>>

/** The folder of the records in a data directory. */
export const recordsFolderOf = (directory: string): string => join(directory, 'records')

/** Half of how far a clock may be behind the last batch, so a batch of one server never stops writes of another one. */
const MAX_CLOCK_OFFSET_MS = 30_000

/**
 * Opens the record store of the settings and locks the data directory, so that no second process uses it. Throws
 * `CONFIG_ERROR` for settings that do not fit together, for a clock that differs from the database's, and for a store
 * that `migrate` has not completed: a server would begin a new log in it. Also throws `STORE_LOCKED` and `UNAVAILABLE`.
 */
export async function openRecords(settings: RecordSettings, options: OpenRecordsOptions = {}): Promise<OpenedRecords> {
  const opened = await openStore(settings, options)
  return orClose(opened.records, async (records) => {
    if (!(await isUnfinishedCopy(records))) return opened
    throw configError(
      'The record store is an unfinished copy of another one: empty it, then run evidence-registry migrate again',
    )
  })
}

interface FinishErasures {
  /** As of `finishErasures`. */
  readonly onStep: (erasures: number) => void
  /** Called if it fails, for example because the disk is full. */
  readonly onFailure: (error: unknown) => void
}

/**
 * As `openRecords`. If text was erased, and entries of the store still hold it, that is finished first. Then the store
 * is opened once more, which removes the keys of what was erased from its files.
 */
export async function openErased(
  settings: RecordSettings,
  { onStep, onFailure, ...options }: OpenRecordsOptions & FinishErasures,
): Promise<OpenedRecords> {
  const opened = await openRecords(settings, options)
  return orClose(opened.records, async (records) => {
    if (!(await hasErasuresToFinish(records))) return opened
    await finishErasures(records, onStep).catch(onFailure)
    await records.close()
    return openRecords(settings, options)
  })
}

/** LevelDB locks its directory itself. */
async function openStore(settings: RecordSettings, options: OpenRecordsOptions): Promise<OpenedRecords> {
  const directory = resolve(settings.dataDir)
  const { takeOver, readOnly: acceptDamage = false } = settings
  if (settings.records !== 'level') return openElsewhere(settings, directory, options)
  return { records: await openLevel(directory, { takeOver, acceptDamage, ...options }) }
}

/**
 * The data directory is locked until this process ends: two servers with one directory would share a signed head.
 */
async function openElsewhere(
  settings: RecordSettings,
  directory: string,
  options: OpenRecordsOptions,
): Promise<OpenedRecords> {
  await makeDirectoryDurably(directory)
  const { lockDirectory } = await import('../../adapters/level/index.ts')
  await lockDirectory(directory, { takeOver: settings.takeOver })
  return openOutside(settings, options)
}

/** Opens records that are not in the data directory, and locks nothing. `retryForMs`: as of `openPostgres`. */
export async function openOutside(
  settings: RecordSettings,
  { logger = stderrLogger, ...options }: Pick<OpenRecordsOptions, 'logger'> & OpenPostgresSettings = {},
): Promise<OpenedRecords> {
  if (namesModule(settings.records)) return { records: withRecordErrors(await openModule('records', settings, logger)) }
  if (settings.postgresUrl === undefined)
    throw configError('EVIDENCE_RECORDS=postgres needs EVIDENCE_POSTGRES_URL or EVIDENCE_POSTGRES_URL_FILE')
  return orClose(await openPostgres(settings.postgresUrl, { logger, ...options }), async (records) => {
    if (!settings.acceptClock) assertClock(Date.now() - (await records.databaseNow()))
    return { records, unsafeSettings: records.unsafeSettings }
  })
}

/** Opens the records in a data directory. Loads LevelDB only now. */
export async function openLevel(directory: string, options: OpenLevelOptions = {}): Promise<LevelRecords> {
  const { openLevelRecords } = await import('../../adapters/level/index.ts')
  return openLevelRecords(recordsFolderOf(directory), options)
}

/** How long a database is waited for, and who is told. */
export interface OpenPostgresSettings {
  /** Default: prints warnings and errors to stderr. */
  readonly logger?: Logger
  /** Time between lines that say that it waits. Default: 2,000. */
  readonly noticeIntervalMs?: number
  /** How long a database that cannot be reached is tried. Default: the adapter's. */
  readonly retryForMs?: number
}

/** Opens the records in a database. Logs that it waits while the database cannot be reached. Loads `pg` only now. */
export async function openPostgres(
  url: string,
  { logger = stderrLogger, noticeIntervalMs = 2_000, retryForMs }: OpenPostgresSettings = {},
) {
  const { openPostgresRecords } = await import('../../adapters/postgres/index.ts')
  const database = databaseOf(url)
  let reason: string | undefined
  const onRetry = (why: string): void => void (reason = why)
  const waiting = setInterval(
    () => logger.warn({ database, reason }, 'waiting for PostgreSQL; is it running, and is the URL right?'),
    noticeIntervalMs,
  )
  try {
    return await openPostgresRecords({ url, logger, onRetry, ...(retryForMs !== undefined && { retryForMs }) })
  } catch (error) {
    throw withDatabase(error, database)
  } finally {
    clearInterval(waiting)
  }
}

/** Names a database without the user and the password. */
function databaseOf(url: string): string {
  const { hostname, port, pathname } = new URL(url)
  return `${hostname || 'localhost'}:${port || '5432'}${pathname}`
}

/** Names the database in an error, without its password. */
function withDatabase(error: unknown, database: string): unknown {
  if (!(error instanceof RegistryError) || error.code !== 'UNAVAILABLE') return error
  const reason = rootCauseOf(error).message
  // The adapter knows what to do about a pooler.
  const [, advice = 'start it, or correct EVIDENCE_POSTGRES_URL'] = error.message.split('nothing was changed. ')
  return new RegistryError('UNAVAILABLE', `PostgreSQL at ${database} cannot be used (${reason}): ${advice}`, {
    cause: error,
  })
}

/** The first reason of a failed connection. Node wraps it. */
function rootCauseOf(error: Error): Error {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return rootCauseOf(error.errors[0])
  return error.cause instanceof Error ? rootCauseOf(error.cause) : error
}

/** Servers of one registry compare times, so their clocks must agree. */
function assertClock(offsetMs: number): void {
  const offsetSeconds = Math.round(Math.abs(offsetMs) / 1_000)
  if (Math.abs(offsetMs) > MAX_CLOCK_OFFSET_MS)
    throw configError(
      `The clock of this machine is ${offsetSeconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} the database's. The ` +
        'servers of a registry must agree: correct the clocks, or confirm this clock with EVIDENCE_ACCEPT_CLOCK=true',
    )
}

/** For records that are shared. Throws `CONFIG_ERROR` if anchors or time stamps come from this server only. */
export function assertSharable({ records, anchor, tsa }: Pick<Config, 'records' | 'anchor' | 'tsa'>): void {
  const values = { EVIDENCE_ANCHOR: anchor, EVIDENCE_TSA: tsa }
  for (const [variable, value] of Object.entries(values))
    if (value === 'local')
      throw configError(
        `${variable}=local is for one server, but EVIDENCE_RECORDS=${records} is shared: set ${variable} to ` +
          'another value',
      )
}

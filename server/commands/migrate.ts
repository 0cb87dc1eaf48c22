import { join, resolve } from 'node:path'
import { FileSignedHead } from '../../adapters/files/index.ts'
import type { SnapshotSource } from '../../adapters/kit/index.ts'
import { RegistryError, type RecordStore, type SignedHead } from '../../core/index.ts'
import { encodeRecords, fillStore, fsck, isUnfinishedCopy, storedOrigin } from '../../core/ops/index.ts'
import { assertNoSealer } from '../../sealer/index.ts'
import type { Config } from '../settings/load.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { openLevel, openPostgres } from '../startup/records.ts'
import { DATA_DIR, defineCommand } from './command.ts'
import type { FlagValues } from './flags.ts'
import { assertHasRecords } from '../startup/markers.ts'
import { ProgressLine } from './terminal.ts'
import { configError } from '../settings/config-error.ts'
import { readTextFile } from '../settings/text-file.ts'

const flags = {
  from: { value: 'STORE', doc: 'where the records are' },
  to: { value: 'STORE', doc: 'where to copy them' },
  'from-file': { value: 'FILE', doc: 'instead of --from: a file with the URL of a database' },
  'to-file': { value: 'FILE', doc: 'instead of --to: a file with the URL of a database' },
  'data-dir': DATA_DIR,
} as const

type Flags = FlagValues<typeof flags>

/** `evidence-registry migrate`. */
export const migrateCommand = defineCommand({
  name: 'migrate',
  usage: ['--from STORE --to STORE [--data-dir DIR]'],
  description: `
Copies the log and all records to an empty store, and checks the copy as fsck does. Stop all servers of both
stores first. No server starts on a target that is not complete: after an interruption, empty it, then run the
command again. Files are copied by migrate-blobs.

A STORE is one of
  level         LevelDB in the data directory
  level:DIR     LevelDB in the data directory DIR
  postgres      the database of EVIDENCE_POSTGRES_URL or EVIDENCE_POSTGRES_URL_FILE
  postgres:URL  this database; every user of the machine can read a command line, so do not put a password here

The source is not changed. Remove it when servers run on the target: a server on the source would fork the log. The
secret, the signed head and local files stay in the data directory: keep using it, or move them.`,
  flags,
  success: 'the copy is complete and sound',
  async run(values, config) {
    const from = await locationOf('from', values, config)
    const to = await locationOf('to', values, config)
    if (nameOf(from) === nameOf(to)) throw configError('--from and --to name the same store; see --help')
    return migrate(from, to)
  },
})

/** `directory` is a data directory. `url` may contain a password, so it is never shown. */
type StoreLocation = { readonly directory: string } | { readonly url: string }

const nameOf = (location: StoreLocation): string => ('url' in location ? location.url : location.directory)

/** Which store the flags name. A URL is never repeated in a message, because it can have a password. */
async function locationOf(
  flag: 'from' | 'to',
  values: Flags,
  { dataDir, postgresUrl }: Config,
): Promise<StoreLocation> {
  const [store, file] = [values[flag], values[`${flag}-file`]]
  if ((store === undefined) === (file === undefined))
    throw configError(`Set either --${flag} or --${flag}-file; see --help`)
  if (file !== undefined) return { url: readTextFile(`--${flag}-file`, file, 'value').trim() }
  if (store === 'level') return { directory: resolve(dataDir) }
  if (store?.startsWith('level:') && store !== 'level:') return { directory: resolve(store.slice('level:'.length)) }
  if (store === 'postgres') {
    if (postgresUrl !== undefined) return { url: postgresUrl }
    throw configError(
      `--${flag} postgres needs EVIDENCE_POSTGRES_URL or EVIDENCE_POSTGRES_URL_FILE, or write postgres:URL`,
    )
  }
  const url = store?.replace(/^postgres:(?=postgres)/, '') ?? ''
  if (/^postgres(ql)?:\/\//.test(url)) return { url }
  throw configError(`--${flag} must be level, level:DIR, postgres or postgres:URL; see --help`)
}

/** Returns the number of differences. */
async function migrate(from: StoreLocation, to: StoreLocation): Promise<number> {
  if ('directory' in from) assertHasRecords(from.directory)
  const signedHead = await signedHeadOf([from, to])
  return OpenParts.use(async (parts) => {
    const source = await parts.add(open(from))
    await assertComplete(source)
    const target = await parts.add(open(to))
    await copy(source, target)
    return check(target, signedHead)
  })
}

const open = (location: StoreLocation): Promise<RecordStore & SnapshotSource> =>
  'url' in location ? openPostgres(location.url) : openLevel(location.directory)

/** A copy of an unfinished copy would look complete. */
async function assertComplete(source: RecordStore): Promise<void> {
  if (await isUnfinishedCopy(source))
    throw configError('The source is an unfinished copy itself: use the store that it was copied from')
  if ((await storedOrigin(source)) === undefined)
    throw configError('The source is empty: name the store that holds the registry')
}

/** The signed head of the first data directory that has one. */
async function signedHeadOf(locations: readonly StoreLocation[]): Promise<SignedHead | undefined> {
  for (const location of locations) {
    const path = 'directory' in location ? join(location.directory, 'signed-head.json') : undefined
    const head = path === undefined ? undefined : await new FileSignedHead(path).read()
    if (head !== undefined) return head
  }
  return undefined
}

/** Copies one state of the source. The target is marked as unfinished until all of it is there. */
async function copy(source: RecordStore & SnapshotSource, target: RecordStore): Promise<void> {
  const progress = new ProgressLine()
  progress.show('looks whether a server runs')
  const { entries, records } = await fillStore(streamOf(source), target, (done) => progress.show(`copy: ${done}`))
  progress.print(`${entries} log entries and ${records} records copied`)
}

/** One state of a store. Ends with `UNAVAILABLE` if a server runs on it, or has appended to its log meanwhile. */
async function* streamOf(source: RecordStore & SnapshotSource): AsyncGenerator<Uint8Array> {
  const assertNoneSince = await assertNoSealer(source)
  const snapshot = await source.snapshot()
  try {
    yield* encodeRecords(snapshot)
    await assertNoneSince()
    if ((await source.logSize()) === (await snapshot.logSize())) return
  } finally {
    await snapshot.close()
  }
  throw new RegistryError(
    'UNAVAILABLE',
    'A server writes to the source: stop all servers of both stores, empty the target, then run the command again',
  )
}

/** Returns the number of differences. */
async function check(target: RecordStore, signedHead: SignedHead | undefined): Promise<number> {
  const progress = new ProgressLine()
  const { done, differences } = await fsck(
    { records: target, signedHead },
    {
      onDifference: ({ kind, key, message }) => progress.print(`${kind}: ${key}: ${message}`),
      onProgress: ({ stage, done: count }) => progress.show(`check of ${stage}: ${count}`),
    },
  )
  const verdict =
    differences === 0 ? 'nothing differs' : `${differences} differences; fsck shows if the source has them`
  progress.print(
    `${done.log} log entries, ${done.evidences} events and ${done.indexes} index records checked in the ` +
      `target: ${verdict}`,
  )
  return differences
}

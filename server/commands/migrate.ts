import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { reasonOf } from '../../adapters/files/index.ts'
import { RegistryError, type RecordStore } from '../../core/index.ts'
import type { Config } from '../settings/load.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { openLevel, openPostgres } from '../startup/records.ts'
import { DATA_DIR, defineCommand, type FlagValues } from './command.ts'
import { copyAndCheck } from './copy-and-check.ts'
import { assertHasRecords } from '../startup/existing.ts'

const flags = {
  from: { value: 'STORE', doc: 'where the records are' },
  to: { value: 'STORE', doc: 'where to copy them' },
  'from-file': { value: 'FILE', doc: 'instead of --from: a file with the URL of a database' },
  'to-file': { value: 'FILE', doc: 'instead of --to: a file with the URL of a database' },
  'data-dir': DATA_DIR,
} as const

type Flags = FlagValues<typeof flags>

export const migrateCommand = defineCommand({
  name: 'migrate',
  usage: ['--from STORE --to STORE [--data-dir DIR]'],
  description: `
Copies the log and all records to an empty store, compares all of them, and checks the copy as fsck does. The copy can be
interrupted and run again. Stop all servers of both stores first. No server starts on a target that is not complete. Files
are copied by migrate-blobs.

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
    if (nameOf(from) === nameOf(to))
      throw new RegistryError('CONFIG_ERROR', '--from and --to name the same store; see --help')
    return migrate(from, to)
  },
})

/** `directory` is a data directory. `url` may contain a password, so it is never shown. */
type StoreLocation = { readonly directory: string } | { readonly url: string }

const nameOf = (location: StoreLocation): string => ('url' in location ? location.url : location.directory)

async function locationOf(
  flag: 'from' | 'to',
  values: Flags,
  { dataDir, postgresUrl }: Config,
): Promise<StoreLocation> {
  const [store, file] = [values[flag], values[`${flag}-file`]]
  if ((store === undefined) === (file === undefined))
    throw new RegistryError('CONFIG_ERROR', `Set either --${flag} or --${flag}-file; see --help`)
  if (file !== undefined) return { url: await readUrl(file, `--${flag}-file`) }
  if (store === 'level') return { directory: resolve(dataDir) }
  if (store?.startsWith('level:') && store !== 'level:') return { directory: resolve(store.slice('level:'.length)) }
  if (store === 'postgres') {
    if (postgresUrl !== undefined) return { url: postgresUrl }
    throw new RegistryError(
      'CONFIG_ERROR',
      `--${flag} postgres needs EVIDENCE_POSTGRES_URL or EVIDENCE_POSTGRES_URL_FILE, or write postgres:URL`,
    )
  }
  const url = store?.replace(/^postgres:(?=postgres)/, '') ?? ''
  if (/^postgres(ql)?:\/\//.test(url)) return { url }
  throw new RegistryError('CONFIG_ERROR', `--${flag} must be level, level:DIR, postgres or postgres:URL; see --help`)
}

async function readUrl(path: string, flag: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    const reason = reasonOf(cause)
    throw new RegistryError('CONFIG_ERROR', `${flag}: the file ${path} cannot be read (${reason})`, { cause })
  }
}

/** Returns the number of differences. */
async function migrate(from: StoreLocation, to: StoreLocation): Promise<number> {
  if ('directory' in from) await assertHasRecords(from.directory)
  const parts = new OpenParts()
  try {
    const stores = { from: await parts.add(open(from)), to: await parts.add(open(to)) }
    const directories = [from, to].flatMap((location) => ('directory' in location ? [location.directory] : []))
    return await copyAndCheck(stores, directories)
  } finally {
    await parts.close()
  }
}

const open = (location: StoreLocation): Promise<RecordStore> =>
  'url' in location ? openPostgres(location.url) : openLevel(location.directory)

import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { FileSignedHead } from '../../adapters/files/index.ts'
import { fsck, isRegistryError, RegistryError, type RecordStore, type SignedHead } from '../../core/index.ts'
import { loadConfig, type Config } from '../settings/config.ts'
import { copyRecords, type RecordStores } from './copy-records.ts'
import type { CommandInput } from './fsck.ts'
import { ProgressLine } from './progress-line.ts'

/** All is in the target; something is not, or a store cannot be used; it was not asked rightly. */
const [EXIT_DONE, EXIT_PROBLEMS, EXIT_USAGE] = [0, 1, 2]

const HELP = `Usage: evidence-registry migrate --from STORE --to STORE [--data-dir DIR]

Copies all records and the log to an empty store, compares each of them, and derives every txId, leaf, tile and root again
from the copy, as fsck does. It can be stopped, and begun again: what is there already is only compared. All servers must be
stopped meanwhile, of both stores. Until it has ended, no server starts on the target. Files are copied by migrate-blobs.

A STORE is one of
  level         LevelDB in the data directory
  level:DIR     LevelDB in the data directory DIR
  postgres      the database that EVIDENCE_POSTGRES_URL, or the file EVIDENCE_POSTGRES_URL_FILE, names
  postgres:URL  this database. A command line is seen by every user of the machine, so give none with a password here

  --from, --to            where the records are, and where they go
  --from-file, --to-file  in their place: a file that holds the URL of a database
  --data-dir DIR          default: EVIDENCE_DATA_DIR, else ./data

The source is left as it is: remove it when servers run on the target, and start none on it, which would fork the log.
The secret, the signed head and local files stay in the data directory: go on with the same one, or move them along.

Ends with 0 where all is in the target and sound, with 1 where something is not, with 2 where a setting cannot be used.
`

/** Differences go to stdout, a line each; progress and errors to stderr. Answers the exit code. */
export async function migrateCommand(input: CommandInput): Promise<number> {
  try {
    const asked = await parse(input)
    if (asked === undefined) {
      process.stdout.write(HELP)
      return EXIT_DONE
    }
    return (await migrate(asked)) === 0 ? EXIT_DONE : EXIT_PROBLEMS
  } catch (error) {
    process.stderr.write(`evidence-registry migrate: ${error instanceof Error ? error.message : String(error)}\n`)
    return isRegistryError(error, 'CONFIG_ERROR') ? EXIT_USAGE : EXIT_PROBLEMS
  }
}

/** `directory` is a data directory. `url` may hold a password, so it is never shown. */
type Place = { readonly directory: string } | { readonly url: string }

interface Asked {
  readonly from: Place
  readonly to: Place
}

/** `undefined`: only the help is asked for. */
async function parse({ args, env }: CommandInput): Promise<Asked | undefined> {
  const values = flagsOf(args)
  if (values.help === true) return undefined
  const dataDir = values['data-dir']
  const started = loadConfig({ args: dataDir === undefined ? [] : ['--data-dir', dataDir], env })
  // Without --help among its flags, the configuration is always one to run.
  const config = (started as { readonly run: Config }).run
  const from = await placeOf('from', values, config)
  const to = await placeOf('to', values, config)
  if (nameOf(from) === nameOf(to))
    throw new RegistryError('CONFIG_ERROR', '--from and --to name the same store; --help says more')
  return { from, to }
}

const nameOf = (place: Place): string => ('url' in place ? place.url : place.directory)

type Flags = ReturnType<typeof flagsOf>

function flagsOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        from: { type: 'string' },
        'from-file': { type: 'string' },
        to: { type: 'string' },
        'to-file': { type: 'string' },
        'data-dir': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch {
    // What was given is not repeated, also not as a cause: it may be a URL with a password.
    throw new RegistryError(
      'CONFIG_ERROR',
      'The flags are --from, --to, --from-file, --to-file and --data-dir, each with a value; --help says more',
    )
  }
}

async function placeOf(flag: 'from' | 'to', values: Flags, { dataDir, postgresUrl }: Config): Promise<Place> {
  const [given, file] = [values[flag], values[`${flag}-file`]]
  if ((given === undefined) === (file === undefined))
    throw new RegistryError('CONFIG_ERROR', `Give --${flag} or --${flag}-file, one of them; --help says more`)
  if (file !== undefined) return { url: await urlIn(file, `--${flag}-file`) }
  if (given === 'level') return { directory: resolve(dataDir) }
  if (given?.startsWith('level:') && given !== 'level:') return { directory: resolve(given.slice('level:'.length)) }
  if (given === 'postgres') {
    if (postgresUrl !== undefined) return { url: postgresUrl }
    throw new RegistryError('CONFIG_ERROR', `--${flag} postgres needs EVIDENCE_POSTGRES_URL, or …_FILE, or a URL`)
  }
  const url = given?.replace(/^postgres:(?=postgres)/, '') ?? ''
  if (/^postgres(ql)?:\/\//.test(url)) return { url }
  throw new RegistryError(
    'CONFIG_ERROR',
    `--${flag} takes level, level:DIR, postgres or postgres:URL; --help says more`,
  )
}

async function urlIn(path: string, flag: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    const reason = String((cause as NodeJS.ErrnoException).code)
    throw new RegistryError('CONFIG_ERROR', `${flag}: the file ${path} cannot be read (${reason})`, { cause })
  }
}

/** Answers how many differences there are. */
async function migrate(places: Asked): Promise<number> {
  const from = await openSource(places.from)
  try {
    const to = await open(places.to)
    try {
      return await run({ from, to }, await signedHeadOf(places))
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}

async function open(place: Place): Promise<RecordStore> {
  if ('url' in place) {
    const { openPostgresRecords } = await import('../../adapters/postgres/index.ts')
    return openPostgresRecords({ url: place.url })
  }
  const { openLevelRecords } = await import('../../adapters/level/index.ts')
  return openLevelRecords(join(place.directory, 'records'))
}

async function openSource(place: Place): Promise<RecordStore> {
  // Opening would begin an empty store where there is none.
  if ('directory' in place && !(await exists(join(place.directory, 'records'))))
    throw new RegistryError('CONFIG_ERROR', `There is no registry in ${place.directory}: name its data directory`)
  return open(place)
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** What was signed last, where a data directory of the two says so. */
async function signedHeadOf({ from, to }: Asked): Promise<SignedHead | undefined> {
  for (const place of [from, to]) {
    if (!('directory' in place)) continue
    const head = await new FileSignedHead(join(place.directory, 'signed-head.json')).read()
    if (head !== undefined) return head
  }
  return undefined
}

async function run(stores: RecordStores, signedHead: SignedHead | undefined): Promise<number> {
  const progress = new ProgressLine()
  const say = (line: string): void => {
    progress.clear()
    process.stdout.write(`${line}\n`)
  }
  const { entries, records, compared, differences } = await copyRecords(stores, {
    onDifference: (place, message) => say(`${place}: ${message}`),
    onProgress: (stage, done) => progress.show(`${stage}: ${done}`),
  })
  const outcome = differences === 0 ? 'all is equal' : `${differences} differences; was a server running?`
  say(`${entries} log entries and ${records} records copied, ${compared} compared: ${outcome}`)
  if (differences > 0) return differences
  const checked = await fsck(
    { records: stores.to, ...(signedHead && { signedHead }) },
    {
      onDifference: ({ kind, key, message }) => say(`${kind}: ${key}: ${message}`),
      onProgress: ({ stage, done }) => progress.show(`check of ${stage}: ${done}`),
    },
  )
  const { log, evidences, indexes } = checked.done
  const verdict =
    checked.differences === 0 ? 'nothing differs' : `${checked.differences} differences, which the source has as well`
  say(`${log} log entries, ${evidences} events and ${indexes} index records checked in the target: ${verdict}`)
  return checked.differences
}

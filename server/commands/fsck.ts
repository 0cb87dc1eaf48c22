import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { FileSignedHead, readSecret } from '../../adapters/files/index.ts'
import {
  fsck,
  isRegistryError,
  RegistryError,
  type BlobStore,
  type FsckReport,
  type FsckStores,
} from '../../core/index.ts'
import { openBlobs } from '../startup/blobs.ts'
import { loadConfig, type Config } from '../settings/config.ts'
import { openRecords } from '../startup/records.ts'
import { ProgressLine } from './progress-line.ts'

/** Nothing differs; something does, or the stores cannot be read; it was not asked rightly. */
const [EXIT_SOUND, EXIT_DIFFERS, EXIT_USAGE] = [0, 1, 2]

const HELP = `Usage: evidence-registry fsck [--data-dir DIR] [--secret-file FILE] [--skip-files]

Derives every txId, leaf, tile, root, signature and index of a data directory again from its records, reads every
stored file, and prints a line for each thing that differs. The server must not run meanwhile. Records in PostgreSQL
are found as the server finds them: by EVIDENCE_RECORDS and EVIDENCE_POSTGRES_URL.

  --data-dir DIR      the data directory; default: EVIDENCE_DATA_DIR, else ./data
  --secret-file FILE  the root secret; default: EVIDENCE_SECRET_FILE, else secret in the data directory
  --skip-files        do not read the stored files; else EVIDENCE_BLOBS and EVIDENCE_S3_… say where they are

Ends with 0 where nothing differs, with 1 where something does, with 2 where a setting cannot be used.
`

export interface CommandInput {
  /** Arguments after the command's name. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Differences go to stdout, a line each; progress and errors to stderr. Answers the exit code. */
export async function fsckCommand(input: CommandInput): Promise<number> {
  try {
    const asked = parse(input)
    if (asked === undefined) {
      process.stdout.write(HELP)
      return EXIT_SOUND
    }
    const { differences } = await check(asked)
    return differences === 0 ? EXIT_SOUND : EXIT_DIFFERS
  } catch (error) {
    process.stderr.write(`evidence-registry fsck: ${error instanceof Error ? error.message : String(error)}\n`)
    return isRegistryError(error, 'CONFIG_ERROR') ? EXIT_USAGE : EXIT_DIFFERS
  }
}

interface Asked {
  /** Says where records and files are. */
  readonly config: Config
  readonly directory: string
  /** Where it was named, it must be there. */
  readonly secretFile: string | undefined
  readonly skipFiles: boolean
}

/** `undefined`: only the help is asked for. */
function parse({ args, env }: CommandInput): Asked | undefined {
  const values = flagsOf(args)
  if (values.help) return undefined
  const flags = (['data-dir', 'secret-file'] as const).flatMap((name) =>
    values[name] === undefined ? [] : [`--${name}`, values[name]],
  )
  const started = loadConfig({ args: flags, env })
  // Without --help among its flags, the configuration is always one to run.
  const config = (started as { readonly run: Config }).run
  return {
    config,
    directory: resolve(config.dataDir),
    secretFile: config.secretFile,
    skipFiles: values['skip-files'] === true,
  }
}

function flagsOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        'data-dir': { type: 'string' },
        'secret-file': { type: 'string' },
        'skip-files': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (cause) {
    throw new RegistryError('CONFIG_ERROR', `${(cause as Error).message}; --help says what there is`, { cause })
  }
}

async function check({ config, directory, secretFile, skipFiles }: Asked): Promise<FsckReport> {
  // Opening would begin an empty store where there is none.
  if (config.records === 'level' && !(await exists(join(directory, 'records'))))
    throw new RegistryError(
      'CONFIG_ERROR',
      `There is no registry in ${directory}: name its data directory with --data-dir`,
    )
  const secretPath = secretFile ?? join(directory, 'secret')
  const secret = secretFile !== undefined || (await exists(secretPath)) ? await readSecret(secretPath) : undefined
  if (secret === undefined) process.stderr.write(`There is no ${secretPath}: the log's keys are not derived again\n`)
  const signedHead = await new FileSignedHead(join(directory, 'signed-head.json')).read()
  const { records } = await openRecords(config)
  let blobs: BlobStore | undefined
  try {
    if (!skipFiles) blobs = await openBlobs(config, directory)
    const stores = { records, ...(blobs && { blobs }), ...(secret && { secret }), ...(signedHead && { signedHead }) }
    return await run(stores)
  } finally {
    await Promise.all([records.close(), blobs?.close()])
  }
}

async function run(stores: FsckStores): Promise<FsckReport> {
  const progress = new ProgressLine()
  const report = await fsck(stores, {
    onDifference: ({ kind, key, message }) => {
      progress.clear()
      process.stdout.write(`${kind}: ${key}: ${message}\n`)
    },
    onProgress: ({ stage, done }) => progress.show(`${stage}: ${done}`),
  })
  progress.clear()
  const { log, evidences, indexes, blobs } = report.done
  process.stdout.write(
    `${log} log entries, ${evidences} events, ${indexes} index records and ${blobs} files checked: ` +
      `${report.differences === 0 ? 'nothing differs' : `${report.differences} differences`}\n`,
  )
  return report
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { openLevelRecords } from '../../adapters/level/index.ts'
import { isRegistryError, RegistryError, type BlobStore, type RecordStore } from '../../core/index.ts'
import { openBucketBlobs, openFileBlobs } from '../startup/blobs.ts'
import { loadConfig, type Config } from '../settings/config.ts'
import { copyBlobs, type CopyReport } from './copy-blobs.ts'
import type { CommandInput } from './fsck.ts'
import { ProgressLine } from './progress-line.ts'

/** All is in the target; something is not, or a store cannot be used; it was not asked rightly. */
const [EXIT_DONE, EXIT_PROBLEMS, EXIT_USAGE] = [0, 1, 2]

const HELP = `Usage: evidence-registry migrate-blobs --from files --to s3 [--data-dir DIR]
       evidence-registry migrate-blobs --from s3 --to files [--data-dir DIR]

Copies every stored file to the other store, then reads each from there and hashes it. It can be stopped, and begun again:
what is there already is not copied again. The server must not run meanwhile; afterwards start it with EVIDENCE_BLOBS
set to the target. The source is left as it is: delete it then, or files deleted later stay readable there.

  --from, --to    files (below the data directory) or s3 (as EVIDENCE_S3_BUCKET and the others say)
  --data-dir DIR  the data directory, which also holds the records; default: EVIDENCE_DATA_DIR, else ./data

Ends with 0 where all is in the target, with 1 where something is not, with 2 where a setting cannot be used.
`

/** Problems go to stdout, a line each; progress and errors to stderr. Answers the exit code. */
export async function migrateBlobsCommand(input: CommandInput): Promise<number> {
  try {
    const asked = parse(input)
    if (asked === undefined) {
      process.stdout.write(HELP)
      return EXIT_DONE
    }
    return (await migrate(asked)).problems === 0 ? EXIT_DONE : EXIT_PROBLEMS
  } catch (error) {
    process.stderr.write(`evidence-registry migrate-blobs: ${error instanceof Error ? error.message : String(error)}\n`)
    return isRegistryError(error, 'CONFIG_ERROR') ? EXIT_USAGE : EXIT_PROBLEMS
  }
}

type Place = Config['blobs']

interface Asked {
  readonly config: Config
  readonly directory: string
  readonly from: Place
  readonly to: Place
}

/** `undefined`: only the help is asked for. */
function parse({ args, env }: CommandInput): Asked | undefined {
  const { help, from, to, 'data-dir': dataDir } = flagsOf(args)
  if (help === true) return undefined
  if (!isPlace(from) || !isPlace(to) || from === to)
    throw new RegistryError('CONFIG_ERROR', '--from and --to take files and s3, one each; --help says more')
  const started = loadConfig({ args: dataDir === undefined ? [] : ['--data-dir', dataDir], env })
  // Without --help among its flags, the configuration is always one to run.
  const config = (started as { readonly run: Config }).run
  return { config, directory: resolve(config.dataDir), from, to }
}

const isPlace = (place: string | undefined): place is Place => place === 'files' || place === 's3'

function flagsOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        from: { type: 'string' },
        to: { type: 'string' },
        'data-dir': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (cause) {
    throw new RegistryError('CONFIG_ERROR', `${(cause as Error).message}; --help says what there is`, { cause })
  }
}

async function migrate({ config, directory, from, to }: Asked): Promise<CopyReport> {
  const path = join(directory, 'records')
  // Opening would begin an empty store where there is none.
  const isThere = await stat(path).then(
    () => true,
    () => false,
  )
  if (!isThere)
    throw new RegistryError(
      'CONFIG_ERROR',
      `There is no registry in ${directory}: name its data directory with --data-dir`,
    )
  const open = (place: Place): Promise<BlobStore> =>
    place === 's3' ? openBucketBlobs(config) : openFileBlobs(directory)
  const opened: { close(): Promise<void> }[] = []
  const keep = async <T extends { close(): Promise<void> }>(part: Promise<T>): Promise<T> => {
    const value = await part
    opened.push(value)
    return value
  }
  try {
    const records = await keep(openLevelRecords(path))
    return await run(records, { from: await keep(open(from)), to: await keep(open(to)) })
  } finally {
    await Promise.all(opened.map((part) => part.close()))
  }
}

async function run(
  records: RecordStore,
  stores: { readonly from: BlobStore; readonly to: BlobStore },
): Promise<CopyReport> {
  const progress = new ProgressLine()
  const report = await copyBlobs(records, stores, {
    onProblem(fileId, message) {
      progress.clear()
      process.stdout.write(`${fileId}: ${message}\n`)
    },
    onProgress: (stage, files, bytes) => progress.show(`${stage}: ${files} files, ${(bytes / 2 ** 20).toFixed(1)} MiB`),
  })
  progress.clear()
  const { copied, found, verified, problems } = report
  process.stdout.write(
    `${copied} files copied, ${found} were there; ${verified} read again and right: ` +
      `${problems === 0 ? 'all is in the target' : `${problems} problems`}\n`,
  )
  return report
}

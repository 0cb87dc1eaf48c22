import { join, resolve } from 'node:path'
import { FileSignedHead, readSecret } from '../../adapters/files/index.ts'
import { fsck, type Difference, type FsckReport, type FsckStores } from '../../core/index.ts'
import type { Config } from '../settings/load.ts'
import { openBlobs } from '../startup/blobs.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { markedFolders } from '../startup/registry.ts'
import { readMarkers } from '../startup/folder-markers.ts'
import { openRecords } from '../startup/records.ts'
import { DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'
import { assertHasRecords, exists } from './existing.ts'
import { checkFiles } from './fsck-files.ts'
import { ProgressLine } from './progress-line.ts'

const flags = {
  'data-dir': DATA_DIR,
  'secret-file': SECRET_FILE,
  'skip-files': { doc: 'do not read the stored files' },
} as const

export const fsckCommand = defineCommand({
  name: 'fsck',
  usage: ['[--data-dir DIR] [--secret-file FILE] [--skip-files]'],
  description: `
Checks a registry. Computes every txId, leaf, tile, root, signature and index again from the records, reads every stored
file, and prints one line for each difference. Stop the server first.

The records are where EVIDENCE_RECORDS and EVIDENCE_POSTGRES_URL say, the files where EVIDENCE_BLOBS and EVIDENCE_S3_...
say, as for the server.`,
  flags,
  success: 'no differences',
  async run(values, config) {
    const { differences } = await check(config, values['skip-files'] === true)
    return differences
  },
})

async function check(config: Config, skipFiles: boolean): Promise<FsckReport> {
  const directory = resolve(config.dataDir)
  if (config.records === 'level') await assertHasRecords(directory)
  // A folder that is lost must not be made again by opening it.
  await readMarkers(directory, markedFolders(config))
  const secret = await readSecretOf(config, directory)
  const signedHead = await new FileSignedHead(join(directory, 'signed-head.json')).read()
  const { differences, knownHeads } = await checkFiles(directory)
  const parts = new OpenParts()
  try {
    const { records } = await parts.add(openRecords(config), (opened) => opened.records)
    const blobs = skipFiles ? undefined : await parts.add(openBlobs(config, directory))
    const isHeadMissing = signedHead === undefined && (await records.logSize()) > 0
    return await run(
      { records, knownHeads, ...(blobs && { blobs }), ...(secret && { secret }), ...(signedHead && { signedHead }) },
      [...differences, ...(isHeadMissing ? [MISSING_HEAD] : [])],
    )
  } finally {
    await parts.close()
  }
}

const MISSING_HEAD: Difference = {
  kind: 'head',
  key: 'signed-head.json',
  message: 'It is missing, although the log has entries: restore the newest one',
}

/** A secret file that was named must exist. Without the file in the data directory, the check is less complete. */
async function readSecretOf({ secretFile }: Config, directory: string): Promise<Uint8Array | undefined> {
  const path = secretFile ?? join(directory, 'secret')
  if (secretFile !== undefined || (await exists(path))) return readSecret(path)
  process.stderr.write(`${path} does not exist: the keys of the log are not checked against the secret\n`)
  return undefined
}

/** `before`: differences of files beside the records. They are printed first and counted. */
async function run(stores: FsckStores, before: readonly Difference[]): Promise<FsckReport> {
  const progress = new ProgressLine()
  const onDifference = ({ kind, key, message }: Difference): void => progress.print(`${kind}: ${key}: ${message}`)
  before.forEach(onDifference)
  const report = await fsck(stores, {
    onDifference,
    onProgress: ({ stage, done }) => progress.show(`${stage}: ${done}`),
  })
  const { log, evidences, indexes, blobs } = report.done
  const differences = report.differences + before.length
  const verdict = differences === 0 ? 'nothing differs' : `${differences} differences`
  progress.print(
    `${log} log entries, ${evidences} events, ${indexes} index records and ${blobs} files checked: ${verdict}`,
  )
  return { ...report, differences }
}

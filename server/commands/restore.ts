import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { FileSignedHead } from '../../adapters/files/index.ts'
import { isRegistryError, type SignedHead } from '../../core/index.ts'
import { markTarget, restoreBackup, type RestoreReport } from '../backup/restore.ts'
import type { Config } from '../settings/load.ts'
import { ERASURE_LIST } from '../startup/erasure-list.ts'
import { backupDirectory, DATA_DIR, defineCommand } from './command.ts'
import { PASSPHRASE_FILE, readPassphrase } from './passphrase.ts'
import { ProgressLine } from './terminal.ts'
import { configError } from '../settings/config-error.ts'

/** `evidence-registry restore`. */
export const restoreCommand = defineCommand({
  name: 'restore',
  description: `
Restores a backup into an empty data directory. Records and files go where EVIDENCE_RECORDS,
EVIDENCE_POSTGRES_URL, EVIDENCE_BLOBS and EVIDENCE_S3_... say, as for the server, so a backup can also move a
registry. Everything is verified: hashes before anything is written, then each txId, leaf and root up to the
signed checkpoints. A file that is damaged in the backup is named, and does not keep the rest from being restored.

--head names the newest signed-head.json that still exists: of the lost data directory, or of another server
of the same records. If the backup holds less, others hold proofs of the lost entries, and the registry then
opens only with EVIDENCE_READ_ONLY=true. If the server was stopped before the backup and has not run since,
name the one in the backup.

What was erased since the backup is left out, as the newest erasures.jsonl says: the one beside --head, the one
that --erasures names, and the one with the secrets.`,
  flags: {
    from: { value: 'DIR', isRequired: true, doc: 'the directory of the backup' },
    head: { value: 'FILE', doc: 'the newest signed-head.json; without it the registry opens only read-only' },
    erasures: { value: 'FILE', doc: 'the newest erasures.jsonl, if it is not beside --head' },
    'without-erasures': { doc: 'confirm that what was erased since the backup comes back' },
    secrets: { doc: 'also restore the secrets, which are encrypted with a passphrase' },
    'passphrase-file': PASSPHRASE_FILE,
    'data-dir': DATA_DIR,
  },
  success: 'everything is restored and verified',
  async run({ from: given, head: headFile, secrets, 'passphrase-file': file, ...flags }, config) {
    const from = backupDirectory(given)
    await markTarget(config)
    if (file !== undefined && secrets !== true) throw configError('--passphrase-file needs --secrets')
    const head = await readHead(headFile, config)
    const passphrase = secrets === true ? await readPassphrase(file, { isNew: false }) : undefined
    const erasures = flags['without-erasures'] === true ? [] : newestLists(headFile, flags.erasures)
    const progress = new ProgressLine()
    const report = await restoreBackup({ from, config, head, passphrase, erasures }, progress.handlers)
    progress.print(verdictOf(report, head, config))
    return report.problems + report.damagedBlobs
  },
})

/** A database has no place for a missing head: another server would seal there with a head of its own. */
async function readHead(path: string | undefined, { records }: Config): Promise<SignedHead | undefined> {
  if (path === undefined && records === 'postgres')
    throw configError(
      'EVIDENCE_RECORDS=postgres needs --head FILE, the newest signed-head.json that exists. If none is left, name ' +
        'the one in the backup, and start servers only with EVIDENCE_READ_ONLY=true',
    )
  if (path === undefined) return undefined
  const head = await new FileSignedHead(path).read().catch((error: unknown) => {
    if (!isRegistryError(error, 'CORRUPT')) throw error
    const message = `--head: ${path} is not a signed-head.json, or is damaged: name the newest one that exists`
    throw configError(message, error)
  })
  if (head !== undefined) return head
  throw configError(`--head: ${path} does not exist`)
}

/** The list that is named, and the one beside the head. */
function newestLists(headFile: string | undefined, named: string | undefined): readonly string[] | undefined {
  if (named !== undefined && !existsSync(named)) throw configError(`--erasures: ${named} does not exist`)
  const beside = headFile === undefined ? [] : [join(dirname(headFile), ERASURE_LIST)]
  const lists = [...beside.filter((path) => existsSync(path)), ...(named === undefined ? [] : [named])]
  return lists.length === 0 ? undefined : lists
}

/** The last line: what was restored, and what comes next. */
function verdictOf(
  { manifest, problems, damagedBlobs, hasSecrets, erased, state }: RestoreReport,
  head: SignedHead | undefined,
  config: Config,
) {
  const { createdAt, logSize, treeSize, blobs } = manifest
  const what = `backup of ${createdAt}: ${logSize} log entries (${treeSize} sealed), ${blobs.count} files`
  if (problems > 0) return `${what}: NOT restored, see above. Nothing must be started in ${config.dataDir}`
  const secrets = hasSecrets
    ? ''
    : '\nThe secrets were not restored: put secret, checkpoint-keys.json, and the keys of tsa/ and ledger/ ' +
      'into the data directory'
  const but = damagedBlobs > 0 ? `, but the bytes of ${damagedBlobs} of them are lost, see above` : ''
  const without = erased === undefined ? '' : `, without what was erased of ${erased} evidences after it`
  return `${what}: restored and verified${without}${but}\n${NEXT[state](treeSize, head?.size ?? 0)}${secrets}`
}

/** What to do after a restore, by what is known about the newest signed tree. */
const NEXT: Readonly<Record<RestoreReport['state'], (treeSize: number, signed: number) => string>> = {
  complete: () => 'It holds everything that was signed up to --head. Start the server',
  behind: (treeSize, signed) =>
    `A tree of ${signed} entries was signed, the backup holds ${treeSize}: start the server with ` +
    'EVIDENCE_READ_ONLY=true, ' +
    'and continue with a new registry. Or --head is of another registry: then restore again with the right one',
  unknown: () =>
    'Whether more was signed after the backup is not known (no --head): start the server with EVIDENCE_READ_ONLY=true',
}

import { resolve } from 'node:path'
import { verifyBackup } from '../backup/restore.ts'
import { runOperation } from '../control/client.ts'
import { backupOperation } from '../control/operations.ts'
import { backupDirectory, DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'
import { PASSPHRASE_FILE, readPassphrase } from './passphrase.ts'
import { ProgressLine } from './terminal.ts'
import { configError } from '../settings/config-error.ts'

const WITHOUT_SECRETS =
  ', but without the secrets and the keys that sign checkpoints. A restore needs them: keep copies, or use --secrets'

/** `evidence-registry backup`. */
export const createCommand = defineCommand({
  name: 'backup',
  description: `
Backs a registry up, running or stopped: one consistent state of the records and the log, every file, and the
small files of the data directory. A running server writes the backup itself, so DIR is a path on its machine,
on a file system with hard links. A later backup to the same DIR copies only new files, and replaces the
earlier backup when it is complete. Of the files that it keeps it compares one seventh each time, and copies
damaged ones again.

Secrets (the root secret, the keys that sign checkpoints, the keys of the embedded authority and ledger,
operator.key) are left out, unless --secrets is given. Then they are encrypted with a passphrase, in the
format of age. Restoring needs them from somewhere.`,
  flags: {
    to: { value: 'DIR', isRequired: true, doc: 'the directory of the backup; it is created if it does not exist' },
    secrets: { doc: 'include the secrets, encrypted with a passphrase' },
    'passphrase-file': PASSPHRASE_FILE,
    'take-over': { doc: 'confirm that a backup to DIR that another machine began has ended' },
    'data-dir': DATA_DIR,
    'secret-file': SECRET_FILE,
  },
  success: 'the backup is complete',
  async run({ to, secrets, 'passphrase-file': file, 'take-over': takeOver }, config) {
    if (file !== undefined && secrets !== true) throw configError('--passphrase-file needs --secrets')
    const passphrase = secrets === true ? await readPassphrase(file, { isNew: true }) : undefined
    const progress = new ProgressLine()
    const { logSize, treeSize, copiedBlobs, reusedBlobs, replacedBlobs, problems } = await runOperation(
      backupOperation,
      {
        to: backupDirectory(to),
        ...(passphrase !== undefined && { passphrase }),
        ...(takeOver === true && { takeOver }),
      },
      { config, onProgress: ({ stage, done }) => progress.show(`${stage}: ${done}`) },
    )
    for (const problem of problems) progress.print(problem)
    const verdict =
      problems.length === 0
        ? `complete${secrets === true ? '' : WITHOUT_SECRETS}`
        : `${problems.length} problems in the registry itself, see above. fsck tells more about files`
    if (replacedBlobs > 0)
      progress.print(
        `${replacedBlobs} files were damaged or missing in the earlier backup, and were copied again: check its disk`,
      )
    progress.print(
      `${logSize} log entries (${treeSize} sealed), ${copiedBlobs} files copied, ${reusedBlobs} reused ` +
        `(small files are in the records): ${verdict}`,
    )
    return problems.length
  },
})

/** `evidence-registry backup verify`. It reads only the backup, so it runs anywhere. */
export const verifyBackupCommand = defineCommand({
  name: 'backup verify',
  description: `
Verifies a backup without changing it: the hash of each of its files, and then, with the records in a
temporary directory, everything that fsck checks.`,
  flags: {
    quick: { doc: 'only compare hashes, and do not read the files of evidences' },
    'passphrase-file': { value: 'FILE', doc: 'also decrypt the secrets with the passphrase in this file' },
  },
  operand: 'DIR',
  success: 'the backup can be restored',
  async run({ quick = false, 'passphrase-file': file }, _, from) {
    const passphrase = file === undefined ? undefined : await readPassphrase(file, { isNew: false })
    const progress = new ProgressLine()
    const { manifest, problems, damagedBlobs } = await verifyBackup(
      { from: resolve(from), quick, passphrase },
      progress.handlers,
    )
    const { createdAt, logSize, treeSize, blobs } = manifest
    const differs =
      damagedBlobs > 0
        ? `the bytes of ${damagedBlobs} of them are missing or damaged, all else can be restored`
        : 'nothing differs'
    const verdict = problems === 0 ? differs : 'DAMAGED, use another backup'
    progress.print(
      `backup of ${createdAt}: ${logSize} log entries (${treeSize} sealed), ${blobs.count} files` +
        `${quick ? ' (their bytes were not read)' : ''}: ${verdict}`,
    )
    return problems + damagedBlobs
  },
})

import { join } from 'node:path'
import { FileSignedHead } from '../../adapters/files/index.ts'
import { copyRecords, fsck, type RecordStore, type RecordStores, type SignedHead } from '../../core/index.ts'
import { ProgressLine } from './progress-line.ts'

/**
 * Copies all records, compares them, and checks the copy as fsck does. The check uses the signed head in the first of
 * the data directories that has one.
 *
 * @returns the number of differences
 */
export async function copyAndCheck(stores: RecordStores, directories: readonly string[]): Promise<number> {
  const signedHead = await signedHeadOf(directories)
  return (await copy(stores)) || (await checkCopy(stores.to, signedHead))
}

async function signedHeadOf(directories: readonly string[]): Promise<SignedHead | undefined> {
  for (const directory of directories) {
    const head = await new FileSignedHead(join(directory, 'signed-head.json')).read()
    if (head !== undefined) return head
  }
  return undefined
}

/** Returns the number of differences. */
async function copy(stores: RecordStores): Promise<number> {
  const progress = new ProgressLine()
  const { entries, records, compared, differences } = await copyRecords(stores, {
    onDifference: (subject, message) => progress.print(`${subject}: ${message}`),
    onProgress: (stage, done) => progress.show(`${stage}: ${done}`),
  })
  const verdict = differences === 0 ? 'everything is equal' : `${differences} differences; was a server running?`
  progress.print(`${entries} log entries and ${records} records copied, ${compared} compared: ${verdict}`)
  return differences
}

/** Returns the number of differences. */
async function checkCopy(records: RecordStore, signedHead: SignedHead | undefined): Promise<number> {
  const progress = new ProgressLine()
  const { done, differences } = await fsck(
    { records, ...(signedHead && { signedHead }) },
    {
      onDifference: ({ kind, key, message }) => progress.print(`${kind}: ${key}: ${message}`),
      onProgress: ({ stage, done: count }) => progress.show(`check of ${stage}: ${count}`),
    },
  )
  const verdict = differences === 0 ? 'nothing differs' : `${differences} differences, which the source has as well`
  progress.print(
    `${done.log} log entries, ${done.evidences} events and ${done.indexes} index records checked in the target: ${verdict}`,
  )
  return differences
}

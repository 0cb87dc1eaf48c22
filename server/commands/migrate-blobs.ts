import { resolve } from 'node:path'
import { type BlobStore, type RecordStore } from '../../core/index.ts'
import {
  copyBlobs,
  filesOf,
  nameBlobStore,
  storedBlobStore,
  storedOrigin,
  type BlobStores,
} from '../../core/ops/index.ts'
import { assertNoSealer } from '../../sealer/index.ts'
import type { Config } from '../settings/load.ts'
import { openBucketBlobs, openFileBlobs } from '../startup/blobs.ts'
import { assertHasRecords, claimBlobStore, readMarkers } from '../startup/markers.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { openRecords } from '../startup/records.ts'
import { DATA_DIR, defineCommand } from './command.ts'
import { ProgressLine } from './terminal.ts'
import { configError } from '../settings/config-error.ts'

const flags = {
  from: { value: 'STORE', doc: 'files (in the data directory) or s3 (the bucket of EVIDENCE_S3_BUCKET)' },
  to: { value: 'STORE', doc: 'the other one' },
  'data-dir': DATA_DIR,
} as const

type BlobLocation = 'files' | 's3'

/** `evidence-registry migrate-blobs`. */
export const migrateBlobsCommand = defineCommand({
  name: 'migrate-blobs',
  usage: ['--from files --to s3 [--data-dir DIR]', '--from s3 --to files [--data-dir DIR]'],
  description: `
Copies every stored file to the other store, then reads each file from there and verifies its SHA-256. The copy can be
interrupted and run again: files that are there already are not copied again. Stop all servers first, and start them
afterwards with EVIDENCE_BLOBS set to the target.

The source is not changed. Delete it afterwards: files that are deleted later would stay readable there.`,
  flags,
  success: 'all files are in the target',
  async run({ from, to }, config) {
    if (!isLocation(from) || !isLocation(to) || from === to)
      throw configError('--from and --to must be files and s3, one each; see --help')
    return migrate(config, from, to)
  },
})

const isLocation = (name: string | undefined): name is BlobLocation => name === 'files' || name === 's3'

/** Opens both stores, and copies. Returns the number of files with problems. */
async function migrate(config: Config, from: BlobLocation, to: BlobLocation): Promise<number> {
  const directory = resolve(config.dataDir)
  const open = (location: BlobLocation): Promise<BlobStore> =>
    location === 's3' ? openBucketBlobs(config) : openFileBlobs(directory)
  if (config.records === 'level') assertHasRecords(directory)
  // A folder that is lost must not be made again by opening it.
  if (from === 'files') await readMarkers({ ...config, blobs: 'files' })
  return OpenParts.use(async (parts) => {
    const { records } = await parts.add(openRecords(config), (opened) => opened.records)
    const assertNoneSince = await assertNoSealer(records)
    const stores = { from: await parts.add(open(from)), to: await parts.add(open(to)) }
    const problems = await run(records, stores)
    await assertNoneSince()
    const origin = await storedOrigin(records)
    if (problems > 0 || origin === undefined) return problems
    // From this commit on, servers with the files elsewhere are refused.
    const id = await claimBlobStore({ config: { ...config, blobs: to }, blobs: stores.to }, origin)
    if (records.isShared && id !== undefined) await nameBlobStore(records, id, await storedBlobStore(records))
    return problems
  })
}

/** Copies the files, then reads each of them from the target. Returns the number of files with problems. */
async function run(records: RecordStore, stores: BlobStores): Promise<number> {
  const progress = new ProgressLine()
  const failed = new Set<string>()
  const pass = (stage: string, isKnown: () => boolean) =>
    copyBlobs(filesOf(records), stores, {
      isKnown,
      onProblem(fileId, message) {
        if (!failed.has(fileId)) progress.print(`${fileId}: ${message}`)
        failed.add(fileId)
      },
      onProgress: (files, bytes) => progress.show(`${stage}: ${files} files, ${(bytes / 2 ** 20).toFixed(1)} MiB`),
    })
  const first = await pass('copy', () => true)
  // Wrong bytes in the target are copied once more.
  const second = await pass('verify', () => false)
  const [copied, problems] = [first.copied + second.copied, failed.size]
  const verdict = problems === 0 ? 'all files are in the target' : `${problems} problems`
  progress.print(
    `${copied} files copied, ${first.existing} existed, ${second.existing} read again and verified: ${verdict}`,
  )
  return problems
}

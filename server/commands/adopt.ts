import { join, resolve } from 'node:path'
import { FileSignedHead } from '../../adapters/files/index.ts'
import { adoptSignedHead, type RecordStore } from '../../core/index.ts'
import { storedOrigin } from '../../core/ops/index.ts'
import { runOperation } from '../control/client.ts'
import { adoptTransactionsOperation } from '../control/operations.ts'
import { configError } from '../settings/config-error.ts'
import type { Config } from '../settings/load.ts'
import { openBlobs } from '../startup/blobs.ts'
import { adoptBucket, assertHasRecords } from '../startup/markers.ts'
import { OpenParts } from '../startup/open-parts.ts'
import { openRecords } from '../startup/records.ts'
import { DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'

/** `evidence-registry adopt head`. */
export const adoptHeadCommand = defineCommand({
  name: 'adopt head',
  operand: 'FILE',
  description: `
Puts FILE, the signed-head.json of another server of the same records or of another copy, in the place of one that is
missing. The records must hold what it says was signed. Stop the server first.

Without a signed head, records that were set back are not noticed, and signing them again would fork the log. So adopt
the newest one that you have.`,
  flags: { 'data-dir': DATA_DIR },
  success: 'the data directory has the signed head',
  failure: 'the records do not hold it, or cannot be used',
  run: (_, config, path) =>
    withRegistry(config, async ({ records }) => {
      const head = await new FileSignedHead(path).read()
      if (head === undefined)
        throw configError(`${path} does not exist: name signed-head.json of another server or copy`)
      await adoptSignedHead(
        { records, signedHead: new FileSignedHead(join(resolve(config.dataDir), 'signed-head.json')) },
        head,
      )
      process.stdout.write(`signed-head.json: a tree of ${head.size} entries was signed\n`)
      return 0
    }),
})

/** `evidence-registry adopt bucket`. */
export const adoptBucketCommand = defineCommand({
  name: 'adopt bucket',
  description: `
Accepts the bucket of EVIDENCE_S3_BUCKET and EVIDENCE_S3_PREFIX although it does not name its registry and lacks
recorded files, for example after its files were lost. Their downloads fail from then on. The bucket of another registry
is not accepted. Stop the server first.`,
  flags: { 'data-dir': DATA_DIR },
  success: 'the bucket belongs to the registry',
  failure: 'it belongs to another one, or cannot be used',
  run: (_, config) =>
    withRegistry(config, async ({ records, origin, parts }) => {
      const blobs = await parts.add(openBlobs(config, resolve(config.dataDir)))
      await adoptBucket({ config, records, blobs }, origin)
      process.stdout.write(`The bucket belongs to the registry ${origin}\n`)
      return 0
    }),
})

/** The records of a stopped registry. What is added to `parts` is closed with them. */
interface StoppedRegistry {
  readonly records: RecordStore
  readonly origin: string
  readonly parts: OpenParts
}

const withRegistry = (config: Config, use: (registry: StoppedRegistry) => Promise<number>): Promise<number> =>
  OpenParts.use(async (parts) => {
    if (config.records === 'level') assertHasRecords(config.dataDir)
    const { records } = await parts.add(openRecords(config), (opened) => opened.records)
    const origin = await storedOrigin(records)
    if (origin === undefined) throw configError('There is no registry in these records: there is nothing to adopt')
    return use({ records, origin, parts })
  })

/** `evidence-registry adopt transactions`. */
export const adoptTransactionsCommand = defineCommand({
  name: 'adopt transactions',
  description: `
Ends the alarm evidence_anchor_account_conflict: confirms that the account of the anchors has sent transactions that are
not on record, because another program used its key, or the records were restored from an old backup. First make sure
that no other instance of the registry uses the account. A running server notices it within seconds.`,
  flags: { 'data-dir': DATA_DIR, 'secret-file': SECRET_FILE },
  success: 'what the account has sent is on record, or confirmed',
  failure: 'the chain cannot be asked, or the registry cannot be used',
  async run(_, config) {
    const confirmed = await runOperation(adoptTransactionsOperation, {}, { config })
    process.stdout.write(`${confirmed === null ? 'There is nothing to confirm' : `Confirmed: ${confirmed}`}\n`)
    return 0
  },
})

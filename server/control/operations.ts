import Type, { type TSchema } from '#typebox'
import { OPERATOR } from '../../core/index.ts'
import { confirmForeignUse, resumeWitness } from '../../sealer/index.ts'
import { createBackup } from '../backup/create.ts'
import { createdShare, NewShare } from '../contract/shares.ts'
import { withExpiry } from '../contract/values.ts'
import { configError } from '../settings/config-error.ts'
import { noteBackup } from '../startup/readings.ts'
import type { ControlOperation } from './operation.ts'

const define = <Args extends TSchema, Result>(operation: ControlOperation<Args, Result>) => operation

const NO_ARGS = Type.Object({}, { additionalProperties: false })

/** Seals every event that is not sealed yet. */
export const sealOperation = define({
  name: 'seal',
  opens: 'writable',
  args: NO_ARGS,
  async run({ registry }, _, { signal }) {
    const before = registry.status().sealedSize
    await registry.sealNow(signal)
    const { sealedSize } = registry.status()
    // The newest signed checkpoint is the whole note. A log without a batch has none.
    return { sealedSize, added: sealedSize - before, checkpoint: (await registry.log.latestCheckpoint()) ?? '' }
  },
})

/** Lists the checkpoint keys: those of the log, oldest first, then those that only the keyring has. */
export const listKeysOperation = define({
  name: 'keys/list',
  opens: 'read-only',
  args: NO_ARGS,
  async run({ registry }) {
    const { extensions } = await registry.log.policy()
    return { keys: await registry.checkpointKeys.list(), submissionKey: extensions?.['submissionKey'] }
  },
})

/** Puts the next checkpoint key into the log, signed by the current one. */
export const rotateKeysOperation = define({
  name: 'keys/rotate',
  opens: 'writable',
  args: Type.Object({ allServersHaveIt: Type.Boolean(), compromised: Type.Boolean() }, { additionalProperties: false }),
  async run({ registry, logger }, options) {
    const key = await registry.checkpointKeys.rotate(options)
    logger.info({ vkey: key.vkey, from: key.from }, 'checkpoint key rotated')
    return key
  },
})

/** Marks an earlier checkpoint key as known to others. */
export const markKeyOperation = define({
  name: 'keys/mark-compromised',
  opens: 'writable',
  args: Type.Object({ vkey: Type.String() }, { additionalProperties: false }),
  async run({ registry, logger }, { vkey }) {
    await registry.checkpointKeys.markCompromised(vkey)
    logger.info({ vkey }, 'checkpoint key marked as compromised')
    return null
  },
})

/** Confirms what the account of the anchors has sent. Returns what was unknown, `null` if nothing was. */
export const adoptTransactionsOperation = define({
  name: 'adopt/transactions',
  opens: 'writable',
  args: NO_ARGS,
  async run({ anchor, stores, config, logger }, _, { signal }) {
    if (anchor === undefined) throw configError('EVIDENCE_ANCHOR is none: there is no account')
    if (config.readOnly) throw configError('The registry is open read-only: set EVIDENCE_READ_ONLY=false')
    const confirmed = await confirmForeignUse({ anchor, records: stores.records }, signal)
    if (confirmed === undefined) return null
    logger.info({ confirmed: confirmed.message }, 'transactions of the account that are not on record are confirmed')
    return confirmed.message
  },
})

/** Ends the alarm of a witness. Returns false if it has none. */
export const resumeWitnessOperation = define({
  name: 'witnesses/resume',
  opens: 'writable',
  args: Type.Object({ name: Type.String() }, { additionalProperties: false }),
  async run({ registry, stores, logger }, { name }) {
    const { witnesses } = await registry.log.policy()
    const witness = witnesses.find((each) => each.name === name)
    if (witness === undefined) throw configError(`EVIDENCE_WITNESS_POLICY has no witness ${name}`)
    const hadAlarm = await resumeWitness(stores.records, witness.vkey)
    logger.info({ witness: name, hadAlarm }, 'witness resumed')
    return hadAlarm
  },
})

/** Makes a link that discloses a part of an evidence. Its result has the secret of the link. */
export const shareOperation = define({
  name: 'share',
  opens: 'writable',
  args: Type.Object(
    { companyId: Type.String(), externalId: Type.String(), input: NewShare },
    { additionalProperties: false },
  ),
  async run({ registry, config: { publicUrl } }, { companyId, externalId, input }) {
    if (publicUrl === undefined)
      throw configError('Links begin with EVIDENCE_PUBLIC_URL of the server: set it to its address, and restart it')
    const scope = { companyId, principal: OPERATOR }
    return createdShare(await registry.shares.create(scope, externalId, withExpiry(input)), `${publicUrl}/ui/`)
  },
})

/** Backs the registry up. The process that has the registry open writes the backup. */
export const backupOperation = define({
  name: 'backup',
  opens: 'read-only',
  args: Type.Object(
    {
      to: Type.String({ pattern: '^/' }),
      passphrase: Type.Optional(Type.String()),
      takeOver: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
  async run({ registry, stores, config, logger }, request, run) {
    const { records, blobs } = stores
    if (records.snapshots === null)
      throw configError('The records of EVIDENCE_RECORDS have no snapshots: back them up with tools of their own')
    const startedAt = Date.now()
    const report = await createBackup(
      { records, snapshots: records.snapshots, blobs, config, origin: registry.log.origin },
      request,
      run,
    )
    await noteBackup(config.dataDir, startedAt).catch((err: unknown) =>
      logger.warn({ err }, 'the time of the backup could not be stored: the metrics do not show it'),
    )
    return report
  },
})

/** Everything that a running server does on request of a command. */
export const OPERATIONS: readonly ControlOperation<TSchema, unknown>[] = [
  sealOperation,
  listKeysOperation,
  rotateKeysOperation,
  markKeyOperation,
  adoptTransactionsOperation,
  resumeWitnessOperation,
  shareOperation,
  backupOperation,
]

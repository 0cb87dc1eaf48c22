import type { CheckpointKeyInfo, CheckpointKeys } from '../api/log.ts'
import { RegistryError } from '../errors.ts'
import type { LogIdentity, KeyInLog } from '../log/identity.ts'
import type { Sealer } from '../ports/index.ts'
import type { WriteGate } from './write-gate.ts'

interface KeyParts {
  readonly identity: LogIdentity
  readonly gate: WriteGate
  /** Other processes use the same records. */
  readonly isShared: boolean
  /** Learns that the log has a new entry. */
  readonly sealer: Pick<Sealer, 'notify'>
}

/** The operations of the checkpoint keys. */
export const checkpointKeyOperations = ({ identity, gate, sealer, isShared }: KeyParts): CheckpointKeys => ({
  async list() {
    await identity.refresh()
    return listKeys(identity)
  },
  async rotate({ allServersHaveIt = false, compromised = false } = {}) {
    gate.assertWritable()
    if (isShared && !allServersHaveIt)
      throw new RegistryError(
        'CONFIG_ERROR',
        'Several servers can share these records, and one without the new key can sign nothing any more: copy the ' +
          'keyring to each of them, then rotate with --all-servers-have-it (allServersHaveIt). The log is unchanged',
      )
    const added = await identity.rotateCheckpointKey({ compromised })
    // The log has the key now, so nothing below may throw.
    sealer.notify()
    const following = identity.keys[identity.keys.findIndex(({ entry }) => entry === added.entry) + 1]
    // It was a pending key, so the signer has it.
    return keyInLog(added, following, true)
  },
  async markCompromised(vkey) {
    gate.assertWritable()
    await identity.markCompromised(vkey)
  },
})

async function listKeys(identity: LogIdentity): Promise<readonly CheckpointKeyInfo[]> {
  const { keys } = identity
  const pending = await identity.pendingKeys()
  return [
    ...(await Promise.all(
      keys.map(async (key, i) => keyInLog(key, keys[i + 1], await identity.holds(key.verifierKey))),
    )),
    ...pending.map(
      (vkey) => ({ vkey, state: 'pending', from: null, until: null, isHeld: true, isCompromised: false }) as const,
    ),
  ]
}

const keyInLog = (
  { verifierKey: vkey, position, isCompromised }: KeyInLog,
  next: KeyInLog | undefined,
  isHeld: boolean,
): CheckpointKeyInfo => ({
  vkey,
  state: next === undefined ? 'current' : 'retired',
  from: position + 1,
  until: next?.position ?? null,
  isHeld,
  isCompromised,
})

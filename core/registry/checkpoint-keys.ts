import type { CheckpointKeyInfo, CheckpointKeys } from '../api/checkpoint-keys.ts'
import { RegistryError } from '../errors.ts'
import type { LogIdentity, LogKey } from '../log/identity.ts'
import type { ServerPresence } from './server-presence.ts'
import type { WriteAccess } from './write-access.ts'

interface KeyParts {
  readonly identity: LogIdentity
  /** `undefined`: no other process uses the records. */
  readonly presence: ServerPresence | undefined
  readonly access: WriteAccess
  /** Tells the sealer that the log has a new entry. */
  readonly notify: () => void
}

/** The operations of the checkpoint keys. */
export const checkpointKeyOperations = ({ identity, presence, access, notify }: KeyParts): CheckpointKeys => ({
  async list() {
    await identity.refresh()
    return listKeys(identity)
  },
  async rotate(signal) {
    access.assertWritable()
    await identity.refresh()
    const [next] = await identity.pendingKeys()
    if (next !== undefined && presence !== undefined) {
      await presence.announce()
      assertNoneMissing(next, await presence.runningWithout(next, signal))
    }
    const { verifierKey } = await identity.rotateCheckpointKey()
    notify()
    await presence?.announce()
    const added = (await listKeys(identity)).find(({ vkey }) => vkey === verifierKey)
    if (added === undefined)
      throw new RegistryError('INTERNAL', 'The new checkpoint key is not among the keys of the log')
    return added
  },
})

async function listKeys(identity: LogIdentity): Promise<readonly CheckpointKeyInfo[]> {
  const { keys } = identity
  const pending = await identity.pendingKeys()
  return [
    ...(await Promise.all(keys.map((key, i) => keyInLog(identity, key, keys[i + 1])))),
    ...pending.map((vkey) => ({ vkey, state: 'pending', from: null, until: null, isHeld: true }) as const),
  ]
}

const keyInLog = async (
  identity: LogIdentity,
  { verifierKey: vkey, position }: LogKey,
  next: LogKey | undefined,
): Promise<CheckpointKeyInfo> => ({
  vkey,
  state: next === undefined ? 'current' : 'retired',
  from: position + 1,
  until: next?.position ?? null,
  isHeld: await identity.holds(vkey),
})

function assertNoneMissing(vkey: string, servers: readonly string[]): void {
  if (servers.length > 0)
    throw new RegistryError(
      'CONFIG_ERROR',
      `These servers run and do not have the new checkpoint key ${vkey}: ${servers.join(', ')}. Copy the keyring to ` +
        'each of them, then rotate again. The log is unchanged',
    )
}

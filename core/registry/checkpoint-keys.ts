import type { CheckpointKeyInfo, CheckpointKeys } from '../api/checkpoint-keys.ts'
import { RegistryError } from '../errors.ts'
import type { LogIdentity, LogKey } from '../log/identity.ts'
import type { Logger } from '../ports/index.ts'
import type { ServerPresence } from './server-presence.ts'
import type { WriteAccess } from './write-access.ts'

interface KeyParts {
  readonly identity: LogIdentity
  /** `undefined`: no other process uses the records. */
  readonly presence: ServerPresence | undefined
  readonly access: WriteAccess
  readonly logger: Logger
  /** Tells the sealer that the log has a new entry. */
  readonly notify: () => void
}

/** The operations of the checkpoint keys. */
export const checkpointKeyOperations = ({ identity, presence, access, logger, notify }: KeyParts): CheckpointKeys => ({
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
    const added = await identity.rotateCheckpointKey()
    // The log has the key now, so nothing below may throw.
    notify()
    await presence?.announce().catch((err: unknown) => {
      logger.warn({ err }, 'this server could not publish its new checkpoint key yet; it tries again')
    })
    const following = identity.keys[identity.keys.findIndex(({ entry }) => entry === added.entry) + 1]
    // It was a pending key, so the signer has it.
    return keyInLog(added, following, true)
  },
})

async function listKeys(identity: LogIdentity): Promise<readonly CheckpointKeyInfo[]> {
  const { keys } = identity
  const pending = await identity.pendingKeys()
  return [
    ...(await Promise.all(
      keys.map(async (key, i) => keyInLog(key, keys[i + 1], await identity.holds(key.verifierKey))),
    )),
    ...pending.map((vkey) => ({ vkey, state: 'pending', from: null, until: null, isHeld: true }) as const),
  ]
}

const keyInLog = (
  { verifierKey: vkey, position }: LogKey,
  next: LogKey | undefined,
  isHeld: boolean,
): CheckpointKeyInfo => ({
  vkey,
  state: next === undefined ? 'current' : 'retired',
  from: position + 1,
  until: next?.position ?? null,
  isHeld,
})

function assertNoneMissing(vkey: string, servers: readonly string[]): void {
  if (servers.length > 0)
    throw new RegistryError(
      'CONFIG_ERROR',
      `These servers run and do not have the new checkpoint key ${vkey}: ${servers.join(', ')}. Copy the keyring to ` +
        'each of them, then rotate again. The log is unchanged',
    )
}

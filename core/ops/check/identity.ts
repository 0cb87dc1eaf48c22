import { equalBytes, fromHex } from '../../bytes.ts'
import { keyedHashOf, secretIdOf } from '../../log/identity.ts'
import { logKeys } from '../../log/keys.ts'
import { typedKeyOf } from '../../log/verifier-key.ts'
import { LogReader } from '../../log/reader.ts'
import type { LogIdentityRecord } from '../../log/records.ts'
import { HASH_BYTES } from '../../log/tree/hash.ts'
import type { CheckpointSigner } from '../../ports/index.ts'
import { logKeysOf, type LogKey } from '../../verify/log.ts'
import type { Check } from './check.ts'
import type { KeyedHash } from '../../store/keys.ts'
import { lost } from '../../store/read.ts'

/** What the rest of the check needs to know of the log's identity. */
export interface CheckedIdentity {
  readonly origin: string
  /** `undefined` if they are not those of the log: then no signature can be verified. */
  readonly keys: readonly LogKey[] | undefined
  readonly hash: KeyedHash | undefined
}

/** The secrets of a server, if they are checked. */
interface CheckedSecrets {
  readonly secret?: Uint8Array | undefined
  readonly checkpointSigner?: CheckpointSigner | undefined
}

const KEY = logKeys.identity()

/** Checks the log's identity and its keys. Returns `undefined` if there is no identity that can be read. */
export async function checkIdentity(
  check: Check,
  { secret, checkpointSigner }: CheckedSecrets,
): Promise<CheckedIdentity | undefined> {
  const record = await check.read('identity', KEY)
  if (record === undefined) {
    const size = await check.records.logSize()
    check.expect(size === 0, 'identity', KEY, 'The log has entries, but the record of its identity is missing')
    return undefined
  }
  const logKeyList = await check.guardAsync('identity', KEY, () => keysInLog(check, record))
  if (secret !== undefined)
    check.guard('identity', KEY, () =>
      check.expect(record.secretId === secretIdOf(secret), 'identity', KEY, 'It was created with another root secret'),
    )
  if (checkpointSigner !== undefined) await checkSigner(check, record, checkpointSigner)
  const hash = check.guard('identity', KEY, () => keyedHashOf(record))
  return { origin: record.origin, keys: logKeyList, hash }
}

/** The keys whose entries the record names, by the rules of a verifier. */
async function keysInLog(check: Check, { origin, keys }: LogIdentityRecord): Promise<readonly LogKey[]> {
  const entries = keys.map(({ entry }) => fromHex(entry) ?? new Uint8Array(HASH_BYTES))
  const reader = new LogReader(check.records)
  const payloads = await Promise.all(entries.map((entry) => reader.payloadOf(entry)))
  const positions = await check.records.positionsOf(entries)
  const found = payloads.map((payload, i) => {
    const position = positions[i]
    if (payload === undefined || position === undefined) throw lost('The opening of a checkpoint key')
    return { opening: payload.opening, position }
  })
  const inLog = logKeysOf(origin, found)
  const isSame = inLog.every(({ vkey }, i) => vkey === keys[i]?.vkey)
  check.expect(isSame, 'identity', KEY, 'Its keys are not the keys in the log')
  return inLog
}

/** Only the newest key is needed: the others are retired. */
async function checkSigner(check: Check, { keys }: LogIdentityRecord, signer: CheckpointSigner): Promise<void> {
  await check.guardAsync('identity', KEY, async () => {
    const newest = keys.at(-1)
    if (newest === undefined) throw lost('Its newest checkpoint key')
    const publicKey = typedKeyOf(newest.vkey)
    const isHeld = (await signer.publicKeys()).some((each) => equalBytes(each, publicKey))
    check.expect(isHeld, 'identity', KEY, 'The private key of its newest checkpoint key is missing')
  })
}

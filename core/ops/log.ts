import { messageOf } from '../errors.ts'
import { equalBytes, fromHex, toHex } from '../bytes.ts'
import { verifyKeyChain } from '../commitment/log-entry.ts'
import { secretIdOf } from '../log/identity.ts'
import { logKeys } from '../log/keys.ts'
import { typedKeyOf } from '../log/note.ts'
import { decodePayload, type EventPayload } from '../log/payload.ts'
import { LogReader } from '../log/reader.ts'
import type { LogIdentityRecord } from '../log/records.ts'
import { HASH_BYTES, leafHash } from '../log/tree/hash.ts'
import { rowPrefix, splitRow, TILE_WIDTH } from '../log/tree/tile.ts'
import type { CheckpointSigner, SignedHead } from '../ports/index.ts'
import { eventInRecord } from '../store/evidence.ts'
import { keys, type RecordKey } from '../store/keys.ts'
import { lost, readAll } from '../store/read.ts'
import type { EventRecord, EvidenceRecord } from '../store/records.ts'
import { type CheckpointKey, TreeCheck } from './tree.ts'
import type { Check } from './check.ts'
import { isDamage } from './damage.ts'

/** Checks the log from its entries up: openings, tiles, roots, and with `BatchCheck` batches and their checkpoints. */

/** What the rest of the check needs to know of the log's identity. */
export interface CheckedIdentity {
  readonly origin: string
  readonly keys: readonly CheckpointKey[]
}

/** The secrets of a server, if they are checked. */
interface CheckedSecrets {
  readonly secret?: Uint8Array | undefined
  readonly checkpointSigner?: CheckpointSigner | undefined
}

/** Checks the log's identity and its keys. Returns `undefined` if there is no identity that can be read. */
export async function checkIdentity(
  check: Check,
  { secret, checkpointSigner }: CheckedSecrets,
): Promise<CheckedIdentity | undefined> {
  const key = logKeys.identity()
  const record = await check.read('identity', key)
  if (record === undefined) {
    const size = await check.records.logSize()
    check.expect(size === 0, 'identity', key, 'The log has entries, but the record of its identity is missing')
    return undefined
  }
  await checkKeyOpenings(check, record)
  if (secret !== undefined)
    check.guard('identity', key, () =>
      check.expect(record.secretId === secretIdOf(secret), 'identity', key, 'It was created with another root secret'),
    )
  if (checkpointSigner !== undefined) await checkSigner(check, record, checkpointSigner)
  return { origin: record.origin, keys: await checkKeyPositions(check, record) }
}

async function checkKeyOpenings(check: Check, { origin, keys: keyRecords }: LogIdentityRecord): Promise<void> {
  const key = logKeys.identity()
  const reader = new LogReader(check.records)
  await check.guardAsync('identity', key, async () => {
    const payloads = await Promise.all(keyRecords.map(({ entry }) => reader.payloadOf(bytesOfEntry(entry))))
    const openings = payloads.flatMap((payload) => payload?.opening ?? [])
    if (openings.length < payloads.length) throw lost('The opening of a checkpoint key')
    const chain = verifyKeyChain(openings)
    const isSame = chain.every(({ log, vkey }, i) => log === origin && vkey === keyRecords[i]?.vkey)
    check.expect(isSame, 'identity', key, 'Its keys are not the keys in the log')
  })
}

/** The log entry in hex. If the hex is damaged, an entry that no log contains. */
const bytesOfEntry = (hex: string): Uint8Array => fromHex(hex) ?? new Uint8Array(HASH_BYTES)

/** Only the newest key is needed: the others are retired. */
async function checkSigner(
  check: Check,
  { keys: keyRecords }: LogIdentityRecord,
  signer: CheckpointSigner,
): Promise<void> {
  const key = logKeys.identity()
  await check.guardAsync('identity', key, async () => {
    const newest = keyRecords.at(-1)
    if (newest === undefined) throw lost('Its newest checkpoint key')
    const publicKey = typedKeyOf(newest.vkey)
    const isHeld = (await signer.publicKeys()).some((each) => equalBytes(each, publicKey))
    check.expect(isHeld, 'identity', key, 'The private key of its newest checkpoint key is missing')
  })
}

async function checkKeyPositions(check: Check, record: LogIdentityRecord): Promise<readonly CheckpointKey[]> {
  const positions = await check.records.positionsOf(record.keys.map(({ entry }) => bytesOfEntry(entry)))
  check.expect(
    positions.every((position, i) => position !== undefined && (i > 0 || position === 0)),
    'identity',
    logKeys.identity(),
    'A key is missing in the log, or the first key is not entry 0',
  )
  return record.keys.map(({ vkey }, i) => ({ position: positions[i] ?? Infinity, verifierKey: vkey }))
}

/**
 * Computes leaves, tiles and roots again from the entries of the log, and checks every opening. Entries that cannot be
 * read are reported, and the full tile over them continues the tree.
 *
 * @returns how many entries belong to tokens; `undefined` if not all entries can be read
 */
export async function checkLog(
  check: Check,
  identity: CheckedIdentity | undefined,
  signedHeads: readonly SignedHead[],
): Promise<{ readonly tokenEntries: number | undefined }> {
  const logSize = await check.records.logSize()
  let tokenEntries: number | undefined = 0
  const head = await check.read('head', logKeys.treeHead())
  const sealedSize = Math.min(head?.size ?? 0, logSize)
  check.expect((head?.size ?? 0) <= logSize, 'head', logKeys.treeHead(), 'More entries are sealed than the log has')
  let tree: TreeCheck | undefined = new TreeCheck(check, identity?.keys ?? [], signedHeads)
  for (let start = 0; start < logSize; start += TILE_WIDTH) {
    const page = await checkLogPage(check, start)
    tokenEntries = page && tokenEntries !== undefined ? tokenEntries + page.tokenEntries : undefined
    const sealed = Math.max(0, Math.min(sealedSize - start, TILE_WIDTH))
    const leaves = page?.entries.slice(0, sealed).map(leafHash) ?? (await storedLeaves(check, start, sealed))
    if (leaves === undefined) tree = undefined
    await tree?.add(leaves ?? [])
    check.progress('log', page?.entries.length ?? 0)
  }
  await tree?.finish(head, sealedSize)
  for (const { size } of signedHeads) {
    const message = `A checkpoint of ${size} entries was signed, but only ${sealedSize} are sealed`
    check.expect(size <= sealedSize, 'head', 'signed head', message)
  }
  return { tokenEntries }
}

export interface LogPage {
  /** Fewer than 256 at the end of the log. */
  readonly entries: readonly Uint8Array[]
  /** How many of them belong to tokens. */
  readonly tokenEntries: number
}

/**
 * Reads the entries of the tile that begins at `start`, and checks their positions, their openings and the events to
 * which they refer. Returns `undefined` if they are damaged, which is reported.
 */
export async function checkLogPage(check: Check, start: number): Promise<LogPage | undefined> {
  try {
    const packed = await check.records.readLog(start, TILE_WIDTH)
    check.countBytes(packed.length)
    const entries = splitRow(packed)
    return { entries, tokenEntries: await checkOpenings(check, start, entries) }
  } catch (error) {
    if (!isDamage(error)) throw error
    const reason = messageOf(error)
    check.report('entry', `log/${start}`, `The entries up to ${start + TILE_WIDTH} cannot be read: ${reason}`)
    return undefined
  }
}

/** The leaves in the stored tile. The roots of the batches say whether they are right. */
async function storedLeaves(check: Check, start: number, count: number): Promise<readonly Uint8Array[] | undefined> {
  const tile = await check.get(logKeys.tile(0, start / TILE_WIDTH))
  const row = tile && rowPrefix(tile.value, count)
  return row && splitRow(row)
}

/** An event that a log entry refers to. */
interface EventReference {
  /** Of the log entry. */
  readonly name: string
  readonly txId: string
  /** The record that must hold the event. */
  readonly eventKey: RecordKey<EvidenceRecord | EventRecord>
  readonly payload: EventPayload
}

/**
 * Checks that each entry has the position in the index, and is the hash of an opening. Then checks the events. Returns
 * how many entries belong to tokens.
 */
async function checkOpenings(check: Check, start: number, entries: readonly Uint8Array[]): Promise<number> {
  let tokenEntries = 0
  const [positions, payloads] = await Promise.all([
    check.records.positionsOf(entries),
    check.guardAsync('entry', `log/${start}`, () => check.records.readPayloads(start, entries.length)),
  ])
  for (const payload of payloads ?? []) check.countBytes(payload.length)
  const events: EventReference[] = []
  for (const [i, entry] of entries.entries()) {
    const name = `log/${start + i}`
    check.expect(positions[i] === start + i, 'entry', name, `The index has its position as ${positions[i]}`)
    const payload = check.guard('entry', name, () => decodePayload(entry, payloads?.[i]))
    if (payload?.kind === 'token') tokenEntries += 1
    if (payload?.kind !== 'event') continue
    const { company, evidenceId, version } = payload
    events.push({ name, txId: toHex(entry), eventKey: keys.event(company, evidenceId, version), payload })
  }
  await checkEvents(check, events)
  return tokenEntries
}

async function checkEvents(check: Check, references: readonly EventReference[]): Promise<void> {
  const stored = await readAll(
    check.records,
    references.map(({ eventKey }) => eventKey),
  )
  for (const [i, { name, txId, eventKey, payload }] of references.entries()) {
    const entry = stored[i]
    const event = entry && check.guard('event', eventKey, () => eventInRecord(entry))
    const { type, updateType, company } = payload
    const isSame = event?.type === type && event.updateType === updateType && event.fields['company'] === company
    check.expect(isSame && event.txId === txId, 'entry', name, `It refers to ${eventKey}, which is not that event`)
  }
}

import { equalBytes, fromHex, toHex } from '../bytes.ts'
import { entryOf, kindOf, verifyKeyChain } from '../commitment/log-entry.ts'
import { logKeys } from '../log/keys.ts'
import { createNoteSigner } from '../log/note.ts'
import type { LogIdentityRecord, TreeHeadRecord } from '../log/records.ts'
import { TreeAccumulator } from '../log/tree/accumulator.ts'
import { HASH_BYTES, leafHash } from '../log/tree/hasher.ts'
import { TILE_WIDTH } from '../log/tree/tile.ts'
import type { Key, SignedHead } from '../ports/index.ts'
import { decodeTransaction } from '../registry/event/transaction.ts'
import { deriveSecret } from '../secrets.ts'
import { keys } from '../store/keys.ts'
import type { EventRecord } from '../store/records.ts'
import { BatchCheck, type CheckpointKey } from './batches.ts'
import type { Check } from './check.ts'
import { TileCheck } from './tiles.ts'

/** Checks the log from its entries up: openings, tiles, roots, and with `BatchCheck` batches and their checkpoints. */

/** What the rest of the check needs to know of the log's identity. */
export interface CheckedIdentity {
  readonly origin: string
  readonly keys: readonly CheckpointKey[]
}

/** Checks the log's identity and its keys. Returns `undefined` if there is no identity that can be read. */
export async function checkIdentity(
  check: Check,
  secret: Uint8Array | undefined,
): Promise<CheckedIdentity | undefined> {
  const key = logKeys.identity()
  const record = await check.read<LogIdentityRecord>('identity', key)
  if (record === undefined) {
    const size = await check.records.logSize()
    check.expect(size === 0, 'identity', key, 'The log has entries, but the record of its identity is missing')
    return undefined
  }
  await checkKeyOpenings(check, record)
  if (secret !== undefined) checkSecret(check, record, secret)
  return { origin: record.origin, keys: await checkKeyPositions(check, record) }
}

async function checkKeyOpenings(check: Check, { origin, keys: keyRecords }: LogIdentityRecord): Promise<void> {
  const key = logKeys.identity()
  const openings = await check.records.get(keyRecords.map(({ entry }) => logKeys.controlOpening(entry)))
  check.guard('identity', key, () => {
    const chain = verifyKeyChain(openings.map((entry) => entry?.value ?? new Uint8Array()))
    const isSame = chain.every(({ log, vkey }, i) => log === origin && vkey === keyRecords[i]?.vkey)
    check.expect(isSame, 'identity', key, 'Its keys are not the keys in the log')
  })
}

function checkSecret(check: Check, { origin, keys: keyRecords }: LogIdentityRecord, secret: Uint8Array): void {
  for (const { generation, vkey } of keyRecords) {
    const { verifierKey } = createNoteSigner(origin, deriveSecret(secret, `checkpoint-key/${generation}`))
    const message = `Its key ${generation} is not derived from the secret`
    check.expect(verifierKey === vkey, 'identity', logKeys.identity(), message)
  }
}

async function checkKeyPositions(check: Check, record: LogIdentityRecord): Promise<readonly CheckpointKey[]> {
  const entries = record.keys.map(({ entry }) => fromHex(entry) ?? new Uint8Array(HASH_BYTES))
  const positions = await check.records.positionsOf(entries)
  check.expect(
    positions.every((position, i) => position !== undefined && (i > 0 || position === 0)),
    'identity',
    logKeys.identity(),
    'A key is missing in the log, or the first key is not entry 0',
  )
  return record.keys.map(({ vkey }, i) => ({ position: positions[i] ?? Infinity, verifierKey: vkey }))
}

/** Computes leaves, tiles and roots again from the entries of the log, and checks every opening. */
export async function checkLog(
  check: Check,
  identity: CheckedIdentity | undefined,
  signed: SignedHead | undefined,
): Promise<void> {
  const logSize = await check.records.logSize()
  const head = await check.read<TreeHeadRecord>('head', logKeys.treeHead())
  const sealedSize = Math.min(head?.size ?? 0, logSize)
  check.expect((head?.size ?? 0) <= logSize, 'head', logKeys.treeHead(), 'More entries are sealed than the log has')
  const [tree, tiles] = [new TreeAccumulator(), new TileCheck(check)]
  const batches = await BatchCheck.start(check, identity?.keys ?? [])
  for (let start = 0; start < logSize; start += TILE_WIDTH) {
    const entries = splitEntries(await check.records.readLog(start, TILE_WIDTH))
    await checkOpenings(check, start, entries)
    for (const entry of entries.slice(0, Math.max(0, sealedSize - start))) {
      const leaf = leafHash(entry)
      tree.add(leaf)
      tiles.add(leaf)
      await batches.compare(tree)
      if (signed?.size === tree.size)
        check.expect(
          equalBytes(signed.root, tree.root()),
          'head',
          'signed head',
          'The signed root of this size differs',
        )
    }
    await tiles.compare()
    check.progress('log', entries.length)
  }
  await tiles.finish(sealedSize)
  await batches.finish(head)
  const message = `A checkpoint of ${signed?.size} entries was signed, but only ${sealedSize} are sealed`
  check.expect((signed?.size ?? 0) <= sealedSize, 'head', 'signed head', message)
}

function splitEntries(packed: Uint8Array): readonly Uint8Array[] {
  const entries: Uint8Array[] = []
  for (let at = 0; at < packed.length; at += HASH_BYTES) entries.push(packed.subarray(at, at + HASH_BYTES))
  return entries
}

/** An event that a log entry refers to. */
interface EventReference {
  readonly txId: string
  readonly eventKey: Key
  readonly transactionKey: Key
}

/** Checks that each entry has the position in the index, and is the hash of an opening. Then checks the events. */
async function checkOpenings(check: Check, start: number, entries: readonly Uint8Array[]): Promise<void> {
  const names = entries.map(toHex)
  const [positions, transactions, controls] = await Promise.all([
    check.records.positionsOf(entries),
    check.records.get(names.map(keys.transaction)),
    check.records.get(names.map(logKeys.controlOpening)),
  ])
  const events: EventReference[] = []
  for (const [i, entry] of entries.entries()) {
    const name = `log/${start + i}`
    const [transaction, control] = [transactions[i], controls[i]]
    check.expect(positions[i] === start + i, 'entry', name, `The index has its position as ${positions[i]}`)
    if (transaction !== undefined) events.push(...checkTransaction(check, transaction, entry))
    else if (control !== undefined) checkControlOpening(check, name, entry, control.value)
    else check.report('entry', name, `The opening of ${toHex(entry)} is missing`)
  }
  await checkEvents(check, events)
}

/** Checks the opening of an event. Returns what leads to the event, or nothing if the transaction cannot be read. */
function checkTransaction(
  check: Check,
  { key, value }: { readonly key: Key; readonly value: Uint8Array },
  entry: Uint8Array,
): readonly EventReference[] {
  const transaction = check.guard('entry', key, () => decodeTransaction(value))
  if (transaction === undefined) return []
  const { opening, evidenceId, version } = transaction
  const isRight = equalBytes(entryOf(opening), entry) && kindOf(opening) === 'event'
  check.expect(isRight, 'entry', key, 'The opening does not hash to its log entry')
  return [{ txId: toHex(entry), eventKey: keys.event(evidenceId, version), transactionKey: key }]
}

function checkControlOpening(check: Check, name: string, entry: Uint8Array, opening: Uint8Array): void {
  check.expect(equalBytes(entryOf(opening), entry), 'entry', name, 'The opening does not hash to its log entry')
  const kind = kindOf(opening)
  check.expect(kind === 'key' || kind === 'token', 'entry', name, 'It is not an event, a key or a token')
}

async function checkEvents(check: Check, references: readonly EventReference[]): Promise<void> {
  const stored = await check.records.get(references.map(({ eventKey }) => eventKey))
  for (const [i, { txId, eventKey, transactionKey }] of references.entries()) {
    const event = check.decode<EventRecord>('event', stored[i])
    const message = `It refers to ${eventKey}, which is not that event`
    check.expect(event?.txId === txId, 'entry', transactionKey, message)
  }
}

import { equalBytes, fromHex, toHex } from '../bytes.ts'
import { keys } from '../store/keys.ts'
import { logKeys } from '../log/keys.ts'
import { verifyCheckpoint } from '../log/checkpoint.ts'
import { entryOf, kindOf, verifyKeyChain } from '../commitment/log-entry.ts'
import { createNoteSigner } from '../log/note.ts'
import type {
  BatchIndexRecord,
  BatchRecord,
  CheckpointRecord,
  LogIdentityRecord,
  TreeHeadRecord,
} from '../log/records.ts'
import type { Entry, SignedHead } from '../ports.ts'
import { decodeTransaction } from '../registry/event/event.ts'
import type { EventRecord } from '../store/records.ts'
import { deriveSecret } from '../secrets.ts'
import { TreeAccumulator } from '../log/tree/accumulator.ts'
import { HASH_BYTES, leafHash } from '../log/tree/hasher.ts'
import { TILE_WIDTH } from '../log/tree/tile.ts'
import type { Check } from './check.ts'
import { TileCheck } from './tiles.ts'

/** Checks the log from its entries up: openings, tiles, roots, batches and their checkpoints. */

interface LogKeyPlace {
  readonly position: number
  readonly vkey: string
}

/** Answers the log's origin, `undefined` where that is not known. */
export async function checkIdentity(check: Check, secret: Uint8Array | undefined): Promise<KnownLog | undefined> {
  const key = logKeys.identity()
  const record = await check.read<LogIdentityRecord>('identity', key)
  if (record === undefined) {
    const size = await check.records.logSize()
    check.expect(size === 0, 'identity', key, 'The log has entries, but the record of its identity is missing')
    return undefined
  }
  const openings = await check.records.get(record.keys.map(({ entry }) => logKeys.controlOpening(entry)))
  check.guard('identity', key, () => {
    const chain = verifyKeyChain(openings.map((entry) => entry?.value ?? new Uint8Array()))
    const same = chain.every(({ log, vkey }, i) => log === record.origin && vkey === record.keys[i]?.vkey)
    check.expect(same, 'identity', key, 'It names other keys than the log holds')
  })
  if (secret !== undefined) checkSecret(check, record, secret)
  const positions = await check.records.positionsOf(
    record.keys.map(({ entry }) => fromHex(entry) ?? new Uint8Array(32)),
  )
  const places = positions.map((position, i) => ({ position: position ?? Infinity, vkey: record.keys[i]?.vkey ?? '' }))
  check.expect(
    places.every(({ position }, i) => position < Infinity && (i > 0 || position === 0)),
    'identity',
    key,
    'A key is not in the log where it must be: the first is entry 0',
  )
  return { origin: record.origin, keys: places }
}

export interface KnownLog {
  readonly origin: string
  readonly keys: readonly LogKeyPlace[]
}

function checkSecret(check: Check, { origin, keys: known }: LogIdentityRecord, secret: Uint8Array): void {
  for (const { generation, vkey } of known) {
    const { verifierKey } = createNoteSigner(origin, deriveSecret(secret, `checkpoint-key/${generation}`))
    check.expect(verifierKey === vkey, 'identity', logKeys.identity(), `The secret does not make its key ${generation}`)
  }
}

/** Re-derives leaves, tiles and roots from the log's entries, and looks at every opening. */
export async function checkLog(check: Check, log: KnownLog | undefined, signed: SignedHead | undefined): Promise<void> {
  const logSize = await check.records.logSize()
  const head = await check.read<TreeHeadRecord>('head', logKeys.treeHead())
  const sealedSize = Math.min(head?.size ?? 0, logSize)
  check.expect((head?.size ?? 0) <= logSize, 'head', logKeys.treeHead(), 'More entries are sealed than the log has')
  const [tree, tiles] = [new TreeAccumulator(), new TileCheck(check)]
  const batches = new BatchCheck(check, log)
  await batches.start()
  for (let at = 0; at < logSize; at += TILE_WIDTH) {
    const entries = split(await check.records.readLog(at, TILE_WIDTH))
    await checkOpenings(check, at, entries)
    for (const entry of entries) {
      if (tree.size === sealedSize) break
      const leaf = leafHash(entry)
      tree.add(leaf)
      tiles.add(leaf)
      await batches.at(tree)
      if (signed?.size === tree.size)
        check.expect(equalBytes(signed.root, tree.root()), 'head', 'signed head', 'Another root was signed at its size')
    }
    await tiles.compare()
    check.progress('log', entries.length)
  }
  await tiles.finish(sealedSize)
  await batches.finish(head)
  check.expect(
    (signed?.size ?? 0) <= sealedSize,
    'head',
    'signed head',
    `A checkpoint of ${signed?.size} entries was signed, ${sealedSize} are sealed`,
  )
}

function split(packed: Uint8Array): Uint8Array[] {
  const entries: Uint8Array[] = []
  for (let at = 0; at < packed.length; at += HASH_BYTES) entries.push(packed.subarray(at, at + HASH_BYTES))
  return entries
}

/** Each entry is where the index says, and the hash of an opening whose event is there. */
async function checkOpenings(check: Check, start: number, entries: readonly Uint8Array[]): Promise<void> {
  const names = entries.map(toHex)
  const [positions, transactions, others] = await Promise.all([
    check.records.positionsOf(entries),
    check.records.get(names.map(keys.transaction)),
    check.records.get(names.map(logKeys.controlOpening)),
  ])
  const events: { readonly name: string; readonly key: string; readonly evidenceKey: string }[] = []
  for (const [i, entry] of entries.entries()) {
    const at = `log/${start + i}`
    check.expect(positions[i] === start + i, 'entry', at, `The index has it at ${positions[i]}`)
    const name = names[i] as string
    const transaction = transactions[i]
    const stored = transaction?.value ?? others[i]?.value
    if (stored === undefined) check.differ('entry', at, `The opening of ${name} is missing`)
    else if (transaction === undefined) checkOther(check, at, entry, stored)
    else {
      const event = check.guard('entry', transaction.key, () => decodeTransaction(transaction.value))
      if (event === undefined) continue
      const holds = equalBytes(entryOf(event.opening), entry) && kindOf(event.opening) === 'event'
      check.expect(holds, 'entry', transaction.key, 'The opening does not hash to its log entry')
      const { evidenceId, version } = event
      events.push({ name, key: keys.event(evidenceId, version), evidenceKey: transaction.key })
    }
  }
  const stored = await check.records.get(events.map(({ key }) => key))
  for (const [i, { name, key, evidenceKey }] of events.entries()) {
    const event = check.decode<EventRecord>('event', stored[i])
    check.expect(event?.txId === name, 'entry', evidenceKey, `It leads to ${key}, which is not that event`)
  }
}

function checkOther(check: Check, at: string, entry: Uint8Array, opening: Uint8Array): void {
  check.expect(equalBytes(entryOf(opening), entry), 'entry', at, 'The opening does not hash to its log entry')
  const kind = kindOf(opening)
  check.expect(kind === 'key' || kind === 'token', 'entry', at, 'It opens to neither event nor key nor token')
}

/** Walks the batches beside the log. */
class BatchCheck {
  readonly #check: Check
  readonly #log: KnownLog | undefined
  readonly #batches: AsyncIterator<Entry>
  #next: BatchRecord | undefined
  #last: BatchRecord | undefined

  constructor(check: Check, log: KnownLog | undefined) {
    this.#check = check
    this.#log = log
    this.#batches = check.records.list(logKeys.batchesFrom(0))[Symbol.asyncIterator]()
  }

  async start(): Promise<void> {
    await this.#advance()
  }

  /** The tree has grown by one leaf. */
  async at(tree: TreeAccumulator): Promise<void> {
    if (this.#next?.end !== tree.size) return
    const batch = this.#next
    const key = logKeys.batch(batch.end)
    this.#check.expect(batch.root === toHex(tree.root()), 'batch', key, 'Its root is not that of the log’s entries')
    this.#check.expect(
      batch.start === (this.#last?.end ?? 0) && batch.previous === (this.#last?.id ?? null),
      'batch',
      key,
      'It does not follow the batch before',
    )
    await this.#checkIndexes(batch)
    await this.#advance()
    await this.#checkCheckpoint(batch)
    this.#last = batch
  }

  async finish(head: TreeHeadRecord | undefined): Promise<void> {
    for (; this.#next !== undefined; await this.#advance())
      this.#check.differ(
        'batch',
        logKeys.batch(this.#next.end),
        'It ends where the sealed log does not reach, or inside another',
      )
    const { id = null, end = 0, root, createdAt } = this.#last ?? {}
    const same =
      head === undefined
        ? end === 0
        : head.size === end && head.batchId === id && head.root === root && head.time === createdAt
    this.#check.expect(same, 'head', logKeys.treeHead(), 'The tree’s head is not the last batch')
  }

  /** The next batch that can be read and that lies ahead. */
  async #advance(): Promise<void> {
    for (;;) {
      const { value, done } = await this.#batches.next()
      this.#next = done === true ? undefined : this.#check.decode<BatchRecord>('batch', value)
      if (done === true || this.#next === undefined) {
        if (done === true) return
        continue
      }
      if (logKeys.batch(this.#next.end) === value.key) return
      this.#check.differ('batch', value.key, 'It is stored under another size than it says')
    }
  }

  async #checkIndexes({ id, root, end }: BatchRecord): Promise<void> {
    for (const key of [logKeys.batchById(id), logKeys.batchByRoot(root)]) {
      const place = await this.#check.read<BatchIndexRecord>('index', key)
      this.#check.expect(place?.end === end, 'index', key, `It does not lead to the batch that ends at ${end}`)
    }
  }

  /** Only the last batch may still wait for its checkpoint: the next start signs it. */
  async #checkCheckpoint(batch: BatchRecord): Promise<void> {
    const key = logKeys.checkpoint(batch.end)
    const entry = await this.#check.one(key)
    const checkpoint = this.#check.decode<CheckpointRecord>('checkpoint', entry)
    if (entry === undefined) {
      this.#check.expect(this.#next === undefined, 'checkpoint', key, 'The checkpoint of a batch is missing')
      return
    }
    if (checkpoint === undefined) return
    const { size, root, note } = checkpoint
    this.#check.expect(size === batch.end && root === batch.root, 'checkpoint', key, 'It is not of its batch')
    const signer = this.#log?.keys.findLast(({ position }) => position < batch.end)
    if (signer === undefined) return
    this.#check.guard('checkpoint', key, () => {
      const signed = verifyCheckpoint(note, signer.vkey)
      const same = signed.size === size && toHex(signed.root) === root
      this.#check.expect(same, 'checkpoint', key, 'What was signed is another size or root')
    })
  }
}

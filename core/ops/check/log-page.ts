import { messageOf } from '../../errors.ts'
import { equalBytes, toHex } from '../../bytes.ts'
import { logKeys } from '../../log/keys.ts'
import { decodePayload, type EventPayload } from '../../log/payload.ts'
import { LogReader } from '../../log/reader.ts'
import type { TreeHeadRecord } from '../../log/records.ts'
import { leafHash } from '../../log/tree/hash.ts'
import { buildTile, rowPrefix, splitRow, TILE_WIDTH } from '../../log/tree/tile.ts'
import type { Check } from './check.ts'
import { isDamage } from './damage.ts'
import { storedBytes } from '../../store/codec.ts'
import { eventInRecord } from '../../store/evidence.ts'
import { keys, type RecordKey } from '../../store/keys.ts'
import { readAll } from '../../store/read.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'

/** The entries under one tile of leaves. */
export interface LogPage {
  readonly start: number
  /** Fewer than 256 at the end of the log; `undefined` if they are damaged, which was reported. */
  readonly entries: readonly Uint8Array[] | undefined
  /** How many of them belong to tokens. */
  readonly tokenEntries: number
  /** When the page was read; `undefined` without one. */
  readonly head: TreeHeadRecord | undefined
  /** Of the entries that are sealed; `undefined` if neither these nor their tile can be read. */
  readonly leaves: readonly Uint8Array[] | undefined
  /** The full tile over these leaves. */
  readonly tile?: Uint8Array
}

/**
 * Reads the entries of the tile that begins at `start`, and checks their positions, their openings, the events to which
 * they refer, and the tile. If the entries cannot be read, the leaves are those of the tile: the roots of the batches
 * say whether they are right.
 */
export async function checkLogPage(check: Check, start: number): Promise<LogPage> {
  const key = logKeys.tile(0, start / TILE_WIDTH)
  // The log may grow meanwhile, so head and tile are read from one snapshot, and before the entries.
  const [headEntry, tile] = await readAll(check.records, [logKeys.treeHead(), key])
  const head = check.decode('head', headEntry)
  const sealed = Math.max(0, Math.min(TILE_WIDTH, (head?.size ?? 0) - start))
  const entries = await readEntries(check, start)
  const tokenEntries = entries === undefined ? 0 : await checkOpenings(check, start, entries)
  const leaves = entries?.slice(0, sealed).map(leafHash) ?? storedLeaves(tile?.value, sealed)
  // A partial tile of leaves is not stored.
  if (leaves?.length !== TILE_WIDTH) return { start, entries, tokenEntries, head, leaves }
  const right = buildTile(leaves)
  if (tile === undefined) check.report('tile', key, 'It is missing', right)
  else if (!equalBytes(tile.value, right)) check.report('tile', key, 'It differs from what it follows from', right)
  return { start, entries, tokenEntries, head, leaves, tile: right }
}

/** Those in a tile, if it has as many. */
function storedLeaves(tile: Uint8Array | undefined, sealed: number): readonly Uint8Array[] | undefined {
  const row = sealed === 0 ? new Uint8Array() : tile && rowPrefix(tile, sealed)
  return row && splitRow(row)
}

async function readEntries(check: Check, start: number): Promise<readonly Uint8Array[] | undefined> {
  try {
    const packed = await check.records.readLog(start, TILE_WIDTH)
    check.countBytes(packed.length)
    return splitRow(packed)
  } catch (error) {
    if (!isDamage(error)) throw error
    const reason = messageOf(error)
    check.report('entry', `log/${start}`, `The entries up to ${start + TILE_WIDTH} cannot be read: ${reason}`)
    return undefined
  }
}

/** The paths of all pages together contain every hash of the tiles above the first level. */
export async function checkPathOf(check: Check, { start, entries, head, leaves }: LogPage): Promise<void> {
  const [first] = leaves ?? []
  if (entries === undefined || head === undefined || first === undefined) return
  await check.guardAsync('tile', `log/${start}`, async () => {
    const root = storedBytes(head.root, "The root of the tree's head")
    const claim = { leafIndex: start, leafHash: first, treeSize: head.size, root }
    await new LogReader(check.records).tree.proveInclusion(claim)
  })
}

/** An event that a log entry refers to. */
interface EventReference {
  /** Of the log entry. */
  readonly name: string
  readonly txId: string
  readonly position: number
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
    events.push({
      name,
      txId: toHex(entry),
      position: start + i,
      eventKey: keys.event(company, evidenceId, version),
      payload,
    })
  }
  await checkEvents(check, events)
  return tokenEntries
}

async function checkEvents(check: Check, references: readonly EventReference[]): Promise<void> {
  const stored = await readAll(
    check.records,
    references.map(({ eventKey }) => eventKey),
  )
  for (const [i, { name, txId, position, eventKey, payload }] of references.entries()) {
    const entry = stored[i]
    const event = entry && check.guard('event', eventKey, () => eventInRecord(entry))
    const { type, updateType, company } = payload
    const isSame = event?.type === type && event.updateType === updateType && event.fields['company'] === company
    check.expect(isSame && event.txId === txId, 'entry', name, `It refers to ${eventKey}, which is not that event`)
    if (event !== undefined) check.expect(event.position === position, 'event', eventKey, `Its position is ${position}`)
  }
}

import { createHash } from 'node:crypto'
import { parseCheckpoint, TILE_WIDTH } from '../../core/log/index.ts'
import {
  logKeysOf,
  verifyFile,
  verifyHistory,
  verifyLog,
  verifyProof,
  type KeyEntry,
  type LogKey,
  type ProofStepName,
  type VerifiedHistory,
} from '../../core/verify/index.ts'
import { tokens } from '../../core/verify/tokens.ts'
import { EvidenceRegistryError, type Client, type EvidenceEvent } from '../client/index.ts'
import type { CheckSummary } from './check-summary.ts'
import type { Connection } from './client.ts'
import { forEach, type Progress } from './progress.ts'
import type { Receipt } from './register.ts'

/**
 * Checks everything again from the responses of the service, with the offline verifiers of the core. It trusts only the
 * receipts of the registering side and the certificate of the timestamp authority.
 */
export interface Recheck {
  readonly connection: Connection
  readonly receipts: readonly Receipt[]
  /** DER. */
  readonly trustAnchors: readonly Uint8Array[]
  readonly summary: CheckSummary
  readonly progress: Progress
}

/** An evidence whose history verified. */
interface CheckedEvidence {
  readonly receipt: Receipt
  readonly id: string
  readonly events: readonly EvidenceEvent[]
}

interface CheckedLog {
  readonly origin: string
  /** The keys that follow from the origin, with the tree sizes that each may sign. */
  readonly keys: readonly LogKey[]
  /** `undefined` if the log did not verify. */
  readonly slots: ReadonlySet<string> | undefined
}

/** Checks the whole log: its keys, every entry from its opening, the root, and the signature. */
export async function recheckLog({ connection: { client }, summary, progress }: Recheck): Promise<CheckedLog> {
  const checkpoint = await client.getCheckpoint()
  const { origin, size } = parseCheckpoint(checkpoint)
  const openings: Uint8Array[] = []
  for (let at = 0; at < size; at += TILE_WIDTH) {
    openings.push(...(await readOpenings(client, at, Math.min(TILE_WIDTH, size - at))))
    progress.show(`log: ${openings.length} of ${size} entries`)
  }
  const entries = openings.map((opening, position) => ({ opening, position })).filter(isKeyEntry)
  const keys = summary.run('log keys follow from the origin', origin, () => logKeysOf(origin, entries))
  const log = summary.run('log rebuilt to its signed root', origin, () => verifyLog(openings, { checkpoint }))
  summary.note('log entries opened', origin, log === undefined ? 'The log did not verify' : undefined, openings.length)
  return { origin, keys: keys ?? [], slots: log?.slots }
}

async function readOpenings(client: Client, position: number, width: number): Promise<readonly Uint8Array[]> {
  const suffix = width < TILE_WIDTH ? `.p/${width}` : ''
  const lines = await client.getOpenings({ tile: `${tilePath(position / TILE_WIDTH)}${suffix}` })
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => new Uint8Array(Buffer.from(line, 'hex')))
}

/** A tile's index as in C2SP tlog-tiles: groups of three digits, all except the last with the prefix `x`. */
function tilePath(index: number): string {
  const digits = String(index).padStart(Math.ceil(String(index).length / 3) * 3, '0')
  const groups = digits.match(/\d{3}/g) ?? []
  return groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/')
}

/** The first 16 bytes of an opening name its kind. */
const TAG_BYTES = 16
const tag = (name: string): Buffer => Buffer.from(name.padEnd(TAG_BYTES, '\0'))
const isKeyEntry = ({ opening }: KeyEntry): boolean => tag('er1.key').equals(opening.subarray(0, TAG_BYTES))

/** Checks the history of each evidence: values, salts, txIds, chain, slots, and receipts. */
export async function recheckHistories(recheck: Recheck, log: CheckedLog): Promise<readonly CheckedEvidence[]> {
  const { connection, receipts, summary, progress } = recheck
  const { client } = connection
  const ids = await listIds(client)
  summary.run('evidences listed', 'the list', () => {
    if (ids.size !== receipts.length) throw new Error(`${ids.size} are listed, ${receipts.length} were registered`)
  })
  const checked: CheckedEvidence[] = []
  await forEach(receipts, { name: 'histories', progress }, async (receipt) => {
    const id = ids.get(receipt.externalId)
    if (id === undefined) return summary.note('evidences listed', receipt.externalId, 'It is not in the list')
    const events = await readEvents(client, receipt.externalId)
    if (recheckHistory(recheck, log, receipt, events)) checked.push({ receipt, id, events })
  })
  return checked
}

/** Returns whether the history verified. */
function recheckHistory(
  { summary }: Recheck,
  { origin, slots }: CheckedLog,
  receipt: Receipt,
  events: readonly EvidenceEvent[],
): boolean {
  const { externalId } = receipt
  const history = summary.run('histories: txIds recomputed, chained, in their slots', externalId, () => {
    const verified = verifyHistory(events, { origin })
    assertReceipt(verified, receipt)
    return verified
  })
  if (history === undefined) return false
  for (const { txId } of history.events) summary.note('events: every value and salt leads to the txId', txId)
  if (slots !== undefined) summary.run('histories are complete', externalId, () => assertNoLaterSlot(history, slots))
  return true
}

async function listIds(client: Client): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>()
  for await (const { id, externalId } of client.evidences()) ids.set(externalId, id)
  return ids
}

async function readEvents(client: Client, externalId: string): Promise<readonly EvidenceEvent[]> {
  const events: EvidenceEvent[] = []
  for await (const event of client.history({ externalId, disclose: true })) events.push(event)
  return events
}

function assertReceipt({ events }: VerifiedHistory, { txIds }: Receipt): void {
  const isSame = events.length === txIds.length && events.every(({ txId }, i) => txId === txIds[i])
  if (!isSame) throw new Error('The txIds are not those of the receipts')
}

/** Each version has a slot, which follows from the slot key of the history. */
function assertNoLaterSlot({ events, slotKey }: VerifiedHistory, slots: ReadonlySet<string>): void {
  const version = Buffer.alloc(8)
  version.writeBigUInt64BE(BigInt(events.length + 1))
  const slot = createHash('sha256').update(tag('er1.slot')).update(slotKey).update(version).digest('hex')
  if (slots.has(slot)) throw new Error('The log contains a later version')
}

/** Names of the steps of a proof in the table. */
const STEPS: Readonly<Record<ProofStepName, string>> = {
  document: 'proofs: strict JSON, known members',
  disclosure: 'proofs: disclosed fields',
  renewal: 'proofs: renewed tokens',
  witnesses: 'proofs: cosigned by witnesses',
  deletion: 'proofs: the event deletes this file',
  expected: 'proofs: for the event of the receipt',
  opening: 'proofs: opening to txId, time',
  files: 'proofs: file in the event',
  inclusion: 'proofs: inclusion in the tree',
  checkpoint: 'proofs: signed checkpoint',
  'stamped checkpoint': 'proofs: consistent with the stamped checkpoint',
  timestamp: 'proofs: RFC 3161 token over that checkpoint',
  'anchored checkpoint': 'proofs: consistent with the anchored checkpoint',
  anchor: 'proofs: transaction on the chain',
}

/** Steps that the proof of an evidence must have. */
const EVIDENCE_STEPS: readonly ProofStepName[] = ['opening', 'stamped checkpoint', 'timestamp', 'anchored checkpoint']

/** Checks the proof of each event, each evidence and each file. */
export async function recheckProofs(
  recheck: Recheck,
  evidences: readonly CheckedEvidence[],
  log: CheckedLog,
): Promise<void> {
  const check = (name: string, paths: readonly string[], required: readonly ProofStepName[]): Promise<void> =>
    forEach(paths, { name, progress: recheck.progress }, (path) => recheckProof(recheck, log, path, required))
  const events = evidences.flatMap((evidence) => evidence.events)
  const files = evidences.flatMap(({ id, events: own }) =>
    attachedFiles(own).map(({ fileId }) => `/merkle/verify/${id}/${fileId}`),
  )
  await check(
    'event proofs',
    events.map(({ txId }) => `/merkle/proof/${txId}`),
    [],
  )
  await check(
    'evidence proofs',
    evidences.map(({ id }) => `/merkle/verify/${id}`),
    EVIDENCE_STEPS,
  )
  await check('file proofs', files, [...EVIDENCE_STEPS, 'files'])
}

async function recheckProof(
  { connection, summary, trustAnchors }: Recheck,
  { keys }: CheckedLog,
  path: string,
  required: readonly ProofStepName[],
): Promise<void> {
  const policy = { keys, authorities: [{ name: 'timestamp authority', trustAnchors }] }
  const { steps } = verifyProof(await connection.readPublic(path), { policy, tokens, require: required })
  for (const { name, state, reason } of steps)
    if (state !== 'skipped') summary.note(STEPS[name], path, state === 'ok' ? undefined : reason)
}

interface AttachedFile {
  readonly event: EvidenceEvent
  readonly fileId: string
}

/** Returns the files that events attached, also those that were deleted later. */
function attachedFiles(events: readonly EvidenceEvent[]): readonly AttachedFile[] {
  return events
    .filter(({ updateType }) => updateType !== 'deletefile')
    .flatMap((event) =>
      Object.keys(JSON.parse(event.disclosure?.filesText ?? '{}') as object).map((fileId) => ({ event, fileId })),
    )
}

/**
 * Checks that the bytes of each file are those that were sent and that the event commits to. A deleted file is missing.
 */
export async function recheckFiles(recheck: Recheck, evidences: readonly CheckedEvidence[]): Promise<void> {
  const files = evidences.flatMap(({ receipt, events }) => attachedFiles(events).map((file) => ({ receipt, ...file })))
  await forEach(files, { name: 'files', progress: recheck.progress }, (file) => recheckFile(recheck, file))
}

const FILE_BYTES = 'file bytes: as sent, and as the event says'

async function recheckFile(
  { connection: { client }, summary }: Recheck,
  { receipt, event: { disclosure, txId }, fileId }: AttachedFile & { readonly receipt: Receipt },
): Promise<void> {
  const response = await client.downloadFile({ fileId }).catch(notFound)
  if (receipt.isDeleted) {
    const problem = response === undefined ? undefined : `The status is ${response.status}`
    return summary.note('deleted files are gone', fileId, problem)
  }
  if (!response?.body) return summary.note(FILE_BYTES, receipt.externalId, 'The file is missing')
  const digest = await digestOf(response.body)
  summary.run(FILE_BYTES, receipt.externalId, () => {
    verifyFile(digest, disclosure?.files[fileId], {
      fileId,
      txId,
      opening: disclosure?.opening,
      filesText: disclosure?.filesText,
      filesSalt: disclosure?.filesSalt,
    })
    if (!Buffer.from(receipt.sent.sha256).equals(digest.sha256)) throw new Error('It is not the file that was sent')
  })
}

async function digestOf(
  body: AsyncIterable<Uint8Array>,
): Promise<{ readonly size: number; readonly sha256: Uint8Array }> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of body) {
    hash.update(chunk)
    size += chunk.length
  }
  return { size, sha256: new Uint8Array(hash.digest()) }
}

/** Any other error of the client is thrown again. */
function notFound(error: unknown): undefined {
  if (!(error instanceof EvidenceRegistryError) || error.status !== 404) throw error
}

import { createHash } from 'node:crypto'
import { fromHex, toHex } from '../../core/bytes.ts'
import { slotHash } from '../../core/commitment/event-format.ts'
import { parseCheckpoint } from '../../core/log/checkpoint.ts'
import { kindOf } from '../../core/commitment/log-entry.ts'
import type { EvidenceEvent, EvidenceList, EvidencePage } from '../../core/registry/schemas.ts'
import {
  verifierKeysOf,
  verifyFile,
  verifyHistory,
  verifyLog,
  verifyProof,
  type ProofStepName,
  type VerifiedHistory,
} from '../../core/verify/index.ts'
import type { Client } from './client.ts'
import { forEach, type Progress } from './progress.ts'
import { COMPANY, evidencePath, type Receipt } from './register.ts'
import type { CheckSummary } from './check-summary.ts'

/**
 * Re-checks everything from the answers alone, with the offline verifiers of core, the receipts of the registering side, and the certificate
 * of the timestamp authority. Nothing here is told by the server what to believe.
 */
export interface Recheck {
  readonly client: Client
  readonly receipts: readonly Receipt[]
  /** DER. */
  readonly trustAnchors: readonly Uint8Array[]
  readonly tally: CheckSummary
  readonly progress: Progress
}

/** An evidence whose history verified. */
interface Checked {
  readonly receipt: Receipt
  readonly id: string
  readonly events: readonly EvidenceEvent[]
}

const TILE = 256

/** What is known of the log; where it did not verify, at least who may sign for it. */
interface CheckedLog {
  readonly origin: string
  readonly verifierKeys: readonly string[]
  readonly slots: ReadonlySet<string> | undefined
}

/** The whole log: its keys, every entry from its opening, the root, the signature. */
export async function recheckLog({ client, tally, progress }: Recheck): Promise<CheckedLog> {
  const checkpoint = await client.text('/log/checkpoint')
  const { origin, size } = parseCheckpoint(checkpoint)
  const openings: Uint8Array[] = []
  for (let at = 0; at < size; at += TILE) {
    const width = Math.min(TILE, size - at)
    const lines = await client.text(`/log/tile/openings/${tilePath(at / TILE)}${width < TILE ? `.p/${width}` : ''}`)
    openings.push(
      ...lines
        .trimEnd()
        .split('\n')
        .map((line) => fromHex(line) ?? new Uint8Array()),
    )
    progress.show(`log: ${openings.length} of ${size} entries`)
  }
  const keys = openings.filter((opening) => kindOf(opening) === 'key')
  const verifierKeys = tally.run('log keys follow from the origin', origin, () => verifierKeysOf(origin, keys))
  const log = tally.run('log rebuilt to its signed root', origin, () => verifyLog(openings, { checkpoint }))
  tally.note('log entries opened', origin, log === undefined ? 'The log did not verify' : undefined, openings.length)
  return { origin, verifierKeys: verifierKeys ?? [], slots: log?.slots }
}

/** A tile's number as C2SP tlog-tiles writes it: groups of three digits, all but the last behind an x. */
function tilePath(index: number): string {
  const digits = String(index).padStart(Math.ceil(String(index).length / 3) * 3, '0')
  const groups = digits.match(/\d{3}/g) ?? []
  return groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/')
}

/** Each evidence's whole history: values, salts, txIds, chain, slots, receipts. */
export async function recheckHistories(recheck: Recheck, log: CheckedLog): Promise<readonly Checked[]> {
  const { client, receipts, tally, progress } = recheck
  const ids = await listedIds(client)
  tally.run('evidences listed', 'the list', () => {
    if (ids.size !== receipts.length) throw new Error(`${ids.size} are listed, ${receipts.length} were registered`)
  })
  const checked: Checked[] = []
  await forEach(
    receipts,
    async (receipt, i) => {
      const { externalId } = receipt
      const id = ids.get(externalId)
      if (id === undefined) return tally.note('evidences listed', externalId, 'It is not in the list')
      const events = await historyOf(client, externalId)
      const history = tally.run('histories: txIds recomputed, chained, in their slots', externalId, () => {
        const verified = verifyHistory(events, { origin: log.origin })
        assertReceipts(verified, receipt)
        return verified
      })
      if (history === undefined) return
      for (const { txId } of history.events) tally.note('events: every value and salt leads to the txId', txId)
      const { slots } = log
      if (slots !== undefined) tally.run('histories not cut short', externalId, () => assertNoLaterSlot(history, slots))
      checked[i] = { receipt, id, events }
    },
    { name: 'histories', progress },
  )
  return checked.filter((value) => value !== undefined)
}

async function listedIds(client: Client): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>()
  for (let last = ''; ;) {
    const page = (await client.get(
      `/evidences/${COMPANY}/evidences?len=1000${last === '' ? '' : `&last=${last}`}`,
    )) as EvidenceList
    for (const { id, externalId } of page.dts) ids.set(externalId, id)
    last = page.dts.at(-1)?.id ?? ''
    if (!page.isMore) return ids
  }
}

async function historyOf(client: Client, externalId: string): Promise<readonly EvidenceEvent[]> {
  const events: EvidenceEvent[] = []
  for (;;) {
    const path = `${evidencePath(externalId)}?disclose=1&len=500&last=${events.length}`
    const page = (await client.get(path)) as EvidencePage
    events.push(...page.events)
    if (!page.isMore || page.events.length === 0) return events
  }
}

function assertReceipts({ events }: VerifiedHistory, { txIds }: Receipt): void {
  const same = events.length === txIds.length && events.every(({ txId }, i) => txId === txIds[i])
  if (!same) throw new Error('The txIds are not those of the receipts')
}

function assertNoLaterSlot({ events, slotKey }: VerifiedHistory, slots: ReadonlySet<string>): void {
  if (slots.has(toHex(slotHash(slotKey, events.length + 1)))) throw new Error('The log holds a later version')
}

/** Names of the proofs' steps in the table. */
const STEPS: Readonly<Record<ProofStepName, string>> = {
  opening: 'proofs: opening to txId, time',
  files: 'proofs: file in the event',
  inclusion: 'proofs: inclusion in the tree',
  checkpoint: 'proofs: signed checkpoint',
  'stamped checkpoint': 'proofs: consistent with the stamped checkpoint',
  timestamp: 'proofs: RFC 3161 token over that checkpoint',
  'anchored checkpoint': 'proofs: consistent with the anchored checkpoint',
  anchor: 'proofs: transaction on the chain',
}

/** The path of each event, and the whole proof of each evidence and each file. */
export async function recheckProofs(recheck: Recheck, checked: readonly Checked[], log: CheckedLog): Promise<void> {
  const { progress } = recheck
  const paths = checked.flatMap(({ events }) => events.map(({ txId }) => `/merkle/proof/${txId}`))
  await forEach(paths, (path) => recheckProof(recheck, log, path, []), { name: 'event proofs', progress })
  const whole = ['opening', 'stamped checkpoint', 'timestamp', 'anchored checkpoint'] as const
  const evidences = checked.map(({ id }) => `/merkle/verify/${id}`)
  await forEach(evidences, (path) => recheckProof(recheck, log, path, whole), { name: 'evidence proofs', progress })
  const files = checked.flatMap(({ id, events }) =>
    attachedIn(events).map(({ fileId }) => `/merkle/verify/${id}/${fileId}`),
  )
  await forEach(files, (path) => recheckProof(recheck, log, path, [...whole, 'files']), {
    name: 'file proofs',
    progress,
  })
}

async function recheckProof(
  { client, tally, trustAnchors }: Recheck,
  { verifierKeys }: CheckedLog,
  path: string,
  require: readonly ProofStepName[],
): Promise<void> {
  const { steps } = verifyProof(await client.get(path), { verifierKeys, trustAnchors, require })
  for (const { name, of, state, reason } of steps) {
    // A deletion's answer has no opening: its event was recomputed from its own disclosure.
    const isMissed = of === 'event' || name !== 'opening'
    if (state === 'ok' || (state === 'failed' && isMissed))
      tally.note(STEPS[name], path, state === 'ok' ? undefined : reason)
  }
}

interface Attached {
  readonly event: EvidenceEvent
  readonly fileId: string
}

/** The files that events attached, also those that were deleted later. */
function attachedIn(events: readonly EvidenceEvent[]): readonly Attached[] {
  return events
    .filter(({ updateType }) => updateType !== 'deletefile')
    .flatMap((event) =>
      Object.keys(JSON.parse(event.disclosure?.filesText ?? '{}') as object).map((fileId) => ({ event, fileId })),
    )
}

/** The bytes of each file: as they were sent, and as the event says. A deleted one is gone. */
export async function recheckFiles({ client, tally, progress }: Recheck, checked: readonly Checked[]): Promise<void> {
  const all = checked.flatMap(({ receipt, events }) => attachedIn(events).map((file) => ({ receipt, ...file })))
  await forEach(
    all,
    async ({ receipt, event, fileId }) => {
      const path = `/evidences/${COMPANY}/file?fileId=${fileId}`
      if (receipt.isDeleted) {
        const status = await client.statusOf(path)
        return tally.note('files deleted are gone', fileId, status === 404 ? undefined : `It answered ${status}`)
      }
      const digest = await digestOf(client.bytes(path))
      tally.run('file bytes: as sent, and as the event says', receipt.externalId, () => {
        const { disclosure, txId } = event
        const file = verifyFile(digest, disclosure?.files[fileId], {
          fileId,
          txId,
          opening: disclosure?.opening,
          filesText: disclosure?.filesText,
          filesSalt: disclosure?.filesSalt,
        })
        if (file.sha256 !== toHex(receipt.sent.sha256)) throw new Error('It is not the file that was sent')
      })
    },
    { name: 'files', progress },
  )
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

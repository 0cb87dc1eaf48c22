import type { CreatedEvidence, EvidencePage, FileListing, RecordedEvent } from '../../core/registry/schemas.ts'
import type { Client } from './client.ts'
import { forEach, type Progress } from './progress.ts'
import { sending, type SourceFile } from './source.ts'

/** What the registering side holds after it: the receipts, and what it sent. Nothing of it comes from the re-check's answers. */
export interface Receipt {
  readonly externalId: string
  /** txIds by version, from 1. */
  readonly txIds: string[]
  readonly sent: { readonly size: number; readonly sha256: Uint8Array }
  /** The file was deleted afterwards. */
  isDeleted: boolean
}

export interface Registered {
  readonly receipts: readonly Receipt[]
  readonly updates: number
  readonly transfers: number
  readonly deletions: number
  /** Of the last event that was written. */
  readonly lastTxId: string
}

export const COMPANY = 'demo'
const EVERY_UPDATE = 5
const EVERY_TRANSFER = 7

export const evidencePath = (externalId: string): string =>
  `/evidences/${COMPANY}/evidence/${encodeURIComponent(externalId)}`

/** Makes an evidence of each file, with the file attached; updates every 5th, transfers every 7th, deletes the file of the first. */
export async function register(client: Client, files: readonly SourceFile[], progress: Progress): Promise<Registered> {
  const receipts: Receipt[] = []
  await forEach(
    files,
    async (file, i) => {
      receipts[i] = await create(client, file)
    },
    { name: 'registering', progress },
  )
  const changes = receipts.flatMap((receipt, i) => [
    ...(i % EVERY_UPDATE === 0
      ? [{ receipt, change: { description: 'Looked at by the demo', updateActionPersona: 'Demo' } }]
      : []),
    ...(i % EVERY_TRANSFER === 0 ? [{ receipt, change: { owner: 'Grace' } }] : []),
  ])
  await forEach(changes, ({ receipt, change }) => update(client, receipt, change), { name: 'updating', progress })
  const lastTxId = await deleteFileOf(client, receipts[0] as Receipt)
  return {
    receipts,
    updates: Math.ceil(files.length / EVERY_UPDATE),
    transfers: Math.ceil(files.length / EVERY_TRANSFER),
    deletions: 1,
    lastTxId,
  }
}

async function create(client: Client, file: SourceFile): Promise<Receipt> {
  const { stream, digest } = sending(file.path)
  const answer = (await client.form(
    `/evidences/${COMPANY}/evidence`,
    {
      categoryName: file.category,
      subcategoryName: file.subcategory,
      externalId: file.externalId,
      name: file.name,
      owner: 'Ada',
      meta: JSON.stringify({ bytes: file.size }),
    },
    { field: 'images.items', name: file.name, mimeType: file.mimeType, stream },
  )) as CreatedEvidence
  return { externalId: file.externalId, txIds: answer.events.map(({ txId }) => txId), sent: digest(), isDeleted: false }
}

async function update(client: Client, receipt: Receipt, change: object): Promise<void> {
  const { events } = (await client.json('PUT', evidencePath(receipt.externalId), change)) as {
    readonly events: readonly RecordedEvent[]
  }
  for (const { txId, version } of events) receipt.txIds[version - 1] = txId
}

/** Answers the txId of the deletion. */
async function deleteFileOf(client: Client, receipt: Receipt): Promise<string> {
  const path = evidencePath(receipt.externalId)
  const { dt } = (await client.get(`${path}/files`)) as FileListing
  await client.json('DELETE', `/evidences/${COMPANY}/file?fileId=${dt[0]?.overlayId}`)
  receipt.isDeleted = true
  const { events } = (await client.get(`${path}?last=${receipt.txIds.length}`)) as EvidencePage
  const txId = events[0]?.txId
  if (txId === undefined) throw new Error('The deletion was not recorded')
  receipt.txIds.push(txId)
  return txId
}

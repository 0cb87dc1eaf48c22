import type { Client } from '../client/index.ts'
import { forEach, type Progress } from './progress.ts'
import { hashingStream, type SourceFile } from './source.ts'

/** What the registering side keeps about an evidence. The checks compare it with the responses of the service. */
export interface Receipt {
  readonly externalId: string
  /** txIds by version, from version 1. */
  readonly txIds: string[]
  readonly sent: { readonly size: number; readonly sha256: Uint8Array }
  /** Set if the file was deleted afterwards. */
  isDeleted: boolean
}

export interface Registered {
  readonly receipts: readonly Receipt[]
  readonly updates: number
  readonly transfers: number
  readonly deletions: number
  /** Of the last event. */
  readonly lastTxId: string
}

const UPDATE_EVERY = 5
const TRANSFER_EVERY = 7

/**
 * Creates an evidence for each file, with the file attached. Then updates every 5th, transfers every 7th, and deletes
 * the file of the first one. Requires at least one file.
 */
export async function register(client: Client, files: readonly SourceFile[], progress: Progress): Promise<Registered> {
  const receipts: Receipt[] = []
  await forEach(files, { name: 'registering', progress }, async (file, i) => {
    receipts[i] = await create(client, file)
  })
  const updates = receipts.filter((_, i) => i % UPDATE_EVERY === 0)
  const transfers = receipts.filter((_, i) => i % TRANSFER_EVERY === 0)
  await forEach(updates, { name: 'updating', progress }, (receipt) =>
    update(client, receipt, { description: 'Reviewed by the demo', updateActionPersona: 'Demo' }),
  )
  await forEach(transfers, { name: 'transferring', progress }, (receipt) => update(client, receipt, { owner: 'Grace' }))
  const [first] = receipts
  if (first === undefined) throw new Error('There is no file to register')
  const lastTxId = await deleteFileOf(client, first)
  return { receipts, updates: updates.length, transfers: transfers.length, deletions: 1, lastTxId }
}

async function create(client: Client, file: SourceFile): Promise<Receipt> {
  const { stream, digest } = hashingStream(file.path)
  const { events } = await client.createEvidence({
    categoryName: file.category,
    subcategoryName: file.subcategory,
    externalId: file.externalId,
    name: file.name,
    owner: 'Ada',
    meta: { bytes: file.size },
    images: [{ content: stream, name: file.name, type: file.mimeType }],
  })
  return { externalId: file.externalId, txIds: events.map(({ txId }) => txId), sent: digest(), isDeleted: false }
}

async function update(
  client: Client,
  { externalId, txIds }: Receipt,
  change: Omit<Parameters<Client['updateEvidence']>[0], 'externalId'>,
): Promise<void> {
  const { events } = await client.updateEvidence({ externalId, ...change })
  for (const { txId, version } of events) txIds[version - 1] = txId
}

/** Returns the txId of the deletion. */
async function deleteFileOf(client: Client, receipt: Receipt): Promise<string> {
  const { externalId, txIds } = receipt
  const { dt } = await client.listEvidenceFiles({ externalId })
  await client.deleteFile({ fileId: dt[0]?.overlayId ?? '' })
  receipt.isDeleted = true
  const { events } = await client.getEvidence({ externalId, last: txIds.length })
  const txId = events[0]?.txId
  if (txId === undefined) throw new Error('The deletion was not recorded')
  txIds.push(txId)
  return txId
}

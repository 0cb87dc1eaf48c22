import type { CompanyId, EvidenceId, IdText } from '../../api/scope.ts'
import { toHex } from '../../bytes.ts'
import { MAX_RECEIPTS } from '../../commitment/bundle-format.ts'
import { type ErasedOfEvent, erasureOpening, receiptHash } from '../../commitment/receipt.ts'
import { decodeRecord, storedBytes } from '../../store/codec.ts'
import { keys } from '../../store/keys.ts'
import { listRecords } from '../../store/read.ts'
import type { Context } from '../context.ts'
import type { DisclosedEvent, DisclosedReceipt } from './bundle-proofs.ts'

/**
 * The newest receipts of an evidence for what is erased in the events of a bundle. They are only read if anything is.
 *
 * @param events - read before, so that no receipt contradicts them
 * @param hasTexts - whether the receipts are shown with their texts
 */
export async function discloseReceipts(
  { records }: Context,
  { company, id }: { readonly company: IdText<CompanyId>; readonly id: IdText<EvidenceId> },
  events: readonly DisclosedEvent[],
  hasTexts = false,
): Promise<readonly DisclosedReceipt[]> {
  const receipts: DisclosedReceipt[] = []
  if (events.every(({ isErased }) => isErased === undefined)) return receipts
  const isErasedIn = new Map<string, DisclosedEvent['isErased']>(events.map(({ txId, isErased }) => [txId, isErased]))
  const isInBundle = ({ txId, fields, files }: ErasedOfEvent): boolean =>
    [...fields, ...files].some((name) => isErasedIn.get(txId)?.(name))
  for await (const entry of listRecords(records, { ...keys.erasuresOf(company, id), reverse: true })) {
    const { txId, salt, text, erased } = decodeRecord(entry)
    if (!erased.some(isInBundle)) continue
    const opening = toHex(erasureOpening(receiptHash(storedBytes(salt, 'The salt of a receipt'), text)))
    receipts.push({ txId, disclosed: { opening, ...(hasTexts && { text, salt }) } })
    if (receipts.length === MAX_RECEIPTS) break
  }
  return receipts
}

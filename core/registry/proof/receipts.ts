import type { CompanyId, EvidenceId, IdText } from '../../api/scope.ts'
import { toHex } from '../../bytes.ts'
import { MAX_RECEIPTS } from '../../commitment/bundle-format.ts'
import { erasureOpening, receiptHash } from '../../commitment/receipt.ts'
import { decodeRecord, storedBytes } from '../../store/codec.ts'
import { keys } from '../../store/keys.ts'
import { listRecords } from '../../store/read.ts'
import type { Context } from '../context.ts'
import type { DisclosedReceipt } from './bundle-proofs.ts'

/**
 * The newest receipts of an evidence that name an event of a bundle.
 *
 * @param hasEvent - whether the bundle has the event of this version
 * @param hasTexts - whether they are shown with their texts
 */
export async function discloseReceipts(
  { records }: Context,
  { company, id }: { readonly company: IdText<CompanyId>; readonly id: IdText<EvidenceId> },
  hasEvent: (version: number) => boolean,
  hasTexts = false,
): Promise<readonly DisclosedReceipt[]> {
  const receipts: DisclosedReceipt[] = []
  for await (const entry of listRecords(records, { ...keys.erasuresOf(company, id), reverse: true })) {
    const { txId, salt, text, erased } = decodeRecord(entry)
    if (!erased.some(({ version }) => hasEvent(version))) continue
    const opening = toHex(erasureOpening(receiptHash(storedBytes(salt, 'The salt of a receipt'), text)))
    receipts.push({ txId, disclosed: { opening, ...(hasTexts && { text, salt }) } })
    if (receipts.length === MAX_RECEIPTS) break
  }
  return receipts
}

import { encodeUtf8 } from '../../bytes.ts'
import { logKeys } from '../../log/keys.ts'
import { LogReader } from '../../log/reader.ts'
import { type AnchorRecord, NO_ANCHORS } from '../../log/records.ts'
import type { AnchorInfo, Key, RecordStore } from '../../ports/index.ts'
import type { AttestationVerifier } from './attestation-verifier.ts'
import type { Check } from './check.ts'
import { pagesOf } from './pages.ts'
import { AccountHistory } from './trust-history.ts'
import { storedBase64 } from '../../store/codec.ts'

/** Compares every anchor with its checkpoint, and the head with the anchors. */
export async function checkAnchors(check: Check, verifier?: AttestationVerifier): Promise<void> {
  const key = logKeys.anchorHead()
  const head = (await check.read('anchor', key)) ?? NO_ANCHORS
  const accounts = check.guard('anchor', key, () => new AccountHistory(head.accounts))
  let confirmedSize = 0
  let outstanding: number | null = null
  // In the order of their sizes.
  for await (const page of pagesOf(check, logKeys.anchors()))
    for (const entry of page) {
      const anchor = check.decode('anchor', entry)
      if (anchor === undefined) continue
      await compareCheckpoint(check, entry.key, anchor)
      check.guard('anchor', key, () => accounts?.add(anchor))
      if (anchor.state === 'prepared' || anchor.state === 'sent') {
        check.expect(outstanding === null, 'anchor', entry.key, 'More than one anchor is outstanding')
        outstanding ??= anchor.size
      }
      if (anchor.confirmation === undefined) continue
      if (verifier !== undefined) verifyAnchor(check, entry.key, { anchor, verifier })
      confirmedSize = anchor.size
    }
  const isRight =
    head.confirmedSize === confirmedSize && head.outstanding === outstanding && head.sentSize >= confirmedSize
  check.expect(isRight, 'anchor', key, 'The head of the anchors does not agree with the anchors')
  const isOfAnchors = check.guard('anchor', key, () => accounts?.isRight) ?? true
  check.expect(isOfAnchors, 'anchor', key, 'It does not name the accounts of all anchors')
  for (const size of head.unsettled) {
    const anchor = await check.read('anchor', logKeys.anchor(size))
    const message = 'The head of the anchors has it as confirmed and unsettled, but it is not confirmed'
    check.expect(anchor?.state === 'confirmed', 'anchor', logKeys.anchor(size), message)
  }
}

async function compareCheckpoint(check: Check, key: Key, anchor: AnchorRecord): Promise<void> {
  const checkpoint = await check.read('checkpoint', logKeys.checkpoint(anchor.size))
  const isRight =
    checkpoint?.note === anchor.checkpoint &&
    checkpoint.root === anchor.root &&
    key === logKeys.anchor(anchor.size) &&
    (anchor.state === 'confirmed') === (anchor.confirmation !== undefined)
  check.expect(isRight, 'anchor', key, 'It does not anchor the checkpoint of its size, or its state is wrong')
}

/** Verifies the proof of a confirmed anchor. */
function verifyAnchor(
  check: Check,
  key: Key,
  { anchor, verifier }: { readonly anchor: AnchorRecord; readonly verifier: AttestationVerifier },
): void {
  const { size, info, checkpoint, confirmation } = anchor
  check.guard('anchor', key, () => {
    if (confirmation === undefined) return
    const { confirmations: _, evidence, ...block } = confirmation
    const proof = storedBase64(evidence, 'The proof of an anchor')
    verifier.verifyAnchor({ info, checkpoint: encodeUtf8(checkpoint), proof, ...block })
  })
  const { localLedgerSize = Infinity } = verifier
  const isInLedger = info.type !== 'local' || size <= localLedgerSize
  check.expect(isInLedger, 'anchor', key, 'It is confirmed, but the local ledger ends before it')
}

/** The size of the largest tree that is confirmed, if that is on a chain of this type; otherwise 0. */
export async function confirmedSizeOn(type: AnchorInfo['type'], records: RecordStore): Promise<number> {
  const log = new LogReader(records)
  const { confirmedSize } = await log.anchorHead()
  const anchor = confirmedSize === 0 ? undefined : await log.anchor(confirmedSize)
  return anchor?.info.type === type ? confirmedSize : 0
}

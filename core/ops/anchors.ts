import { encodeUtf8, fromBase64 } from '../bytes.ts'
import { logKeys } from '../log/keys.ts'
import {
  NO_ANCHORS,
  type AnchorConfirmation,
  type AnchorHeadRecord,
  type AnchorRecord,
  type CheckpointRecord,
  type ConfirmedAnchorRecord,
} from '../log/records.ts'
import type { Entry } from '../ports/index.ts'
import type { AttestationVerifier } from './attestation-verifier.ts'
import type { Check } from './check.ts'

/** Checks every anchor against its checkpoint, and the index of blocks and the head against the anchors. */
export async function checkAnchors(check: Check, verifier?: AttestationVerifier): Promise<void> {
  const anchors = new AnchorCheck(check, verifier)
  for await (const page of check.pages(logKeys.anchorsFrom(0))) for (const entry of page) await anchors.add(entry)
  await anchors.finish()
}

/** Takes the anchors in the order of their sizes, which is also that of the index. */
class AnchorCheck {
  readonly #check: Check
  readonly #verifier: AttestationVerifier | undefined
  readonly #blocks: AsyncIterator<Entry>
  #confirmedSize = 0
  #outstanding: number | null = null

  constructor(check: Check, verifier: AttestationVerifier | undefined) {
    this.#check = check
    this.#verifier = verifier
    this.#blocks = check.records.list(logKeys.confirmedAnchorsFrom(0))[Symbol.asyncIterator]()
  }

  async add(entry: Entry): Promise<void> {
    const anchor = this.#check.decode<AnchorRecord>('anchor', entry)
    if (anchor === undefined) return
    await this.#compareCheckpoint(entry.key, anchor)
    if (anchor.state === 'prepared' || anchor.state === 'sent') {
      const isOnlyOne = this.#outstanding === null
      this.#check.expect(isOnlyOne, 'anchor', entry.key, 'More than one anchor is outstanding')
      this.#outstanding ??= anchor.size
    }
    if (anchor.confirmation === undefined) return
    this.#verify(entry.key, anchor, anchor.confirmation)
    this.#confirmedSize = anchor.size
    await this.#expectNextBlock({ size: anchor.size, blockNumber: anchor.confirmation.blockNumber })
  }

  async finish(): Promise<void> {
    const { value: extra, done } = await this.#blocks.next()
    if (done !== true) this.#check.report('anchor', extra.key, 'It is the block of no confirmed anchor')
    const key = logKeys.anchorHead()
    const head = (await this.#check.read<AnchorHeadRecord>('anchor', key)) ?? NO_ANCHORS
    const isRight =
      head.confirmedSize === this.#confirmedSize &&
      head.outstanding === this.#outstanding &&
      head.sentSize >= this.#confirmedSize
    this.#check.expect(isRight, 'anchor', key, 'The head of the anchors does not agree with the anchors')
    for (const size of head.unsettled) await this.#expectConfirmed(size)
  }

  #verify(key: string, { size, info, checkpoint }: AnchorRecord, confirmation: AnchorConfirmation): void {
    const verifier = this.#verifier
    if (verifier === undefined) return
    const { ref, blockNumber, blockHash, blockTime, evidence } = confirmation
    this.#check.guard('anchor', key, () => {
      const proof = fromBase64(evidence) ?? new Uint8Array()
      verifier.verifyAnchor({
        info,
        checkpoint: encodeUtf8(checkpoint),
        proof,
        ref,
        blockNumber,
        blockHash,
        blockTime,
      })
    })
    const { localLedgerSize = Infinity } = verifier
    const isInLedger = info.type !== 'local' || size <= localLedgerSize
    this.#check.expect(isInLedger, 'anchor', key, 'It is confirmed, but the local ledger ends before it')
  }

  async #compareCheckpoint(key: string, anchor: AnchorRecord): Promise<void> {
    const checkpoint = await this.#check.read<CheckpointRecord>('checkpoint', logKeys.checkpoint(anchor.size))
    const isRight =
      checkpoint?.note === anchor.checkpoint &&
      checkpoint.root === anchor.root &&
      key === logKeys.anchor(anchor.size) &&
      (anchor.state === 'confirmed') === (anchor.confirmation !== undefined)
    this.#check.expect(isRight, 'anchor', key, 'It does not anchor the checkpoint of its size, or its state is wrong')
  }

  async #expectNextBlock({ size, blockNumber }: ConfirmedAnchorRecord): Promise<void> {
    const { value, done } = await this.#blocks.next()
    const confirmed = done === true ? undefined : this.#check.decode<ConfirmedAnchorRecord>('anchor', value)
    const isRight = confirmed?.size === size && confirmed.blockNumber === blockNumber
    const key = logKeys.confirmedAnchor(size)
    this.#check.expect(isRight, 'anchor', key, 'It is not the block of the confirmed anchor of its size')
  }

  async #expectConfirmed(size: number): Promise<void> {
    const key = logKeys.anchor(size)
    const anchor = await this.#check.read<AnchorRecord>('anchor', key)
    const message = 'The head of the anchors has it as confirmed and unsettled, but it is not confirmed'
    this.#check.expect(anchor?.state === 'confirmed', 'anchor', key, message)
  }
}

import type { RecordStore, Version } from '../ports/index.ts'
import { decodeRecord } from '../store/codec.ts'
import type { StoredRecord } from '../store/keys.ts'
import { CoveringRecords } from './covering-records.ts'
import { logKeys } from './keys.ts'
import { NO_ANCHORS, type AnchorHeadRecord, type ConfirmedAnchorRecord } from './records.ts'

/** About 100 bytes each: 2 MB. */
const MAX_CACHED_ANCHORS = 20_000
/** Confirmed anchors that are read together. A list asks for a hundred positions all over the log. */
const MIN_PAGE = 8

/** The anchors in one state of the store: it has another version as soon as one is sent or confirmed. */
export class AnchorState {
  /** `undefined` before the first anchor. */
  readonly version: Version | undefined
  readonly head: AnchorHeadRecord
  readonly #confirmed: CoveringRecords<ConfirmedAnchorRecord>

  /** @param head - as it was read */
  constructor(records: RecordStore, head: StoredRecord<AnchorHeadRecord> | undefined) {
    this.version = head?.version
    this.head = decodeRecord(head) ?? NO_ANCHORS
    const source = { rangeFrom: logKeys.confirmedAnchorsFrom, sizeOf: sizeOfAnchor, minPage: MIN_PAGE }
    this.#confirmed = new CoveringRecords(records, source, MAX_CACHED_ANCHORS)
  }

  /** For each position, the block of the confirmed anchor that covers it; `undefined` if there is none yet. */
  async blocksOf(positions: readonly number[]): Promise<readonly (number | undefined)[]> {
    const anchors = await this.#confirmed.of(positions)
    return positions.map((position) => anchors.get(position)?.blockNumber)
  }
}

const sizeOfAnchor = ({ size }: ConfirmedAnchorRecord): number => size

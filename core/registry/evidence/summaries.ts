import type { EvidenceSummary } from '../../api/evidence.ts'
import type { CompanyId, EvidenceId, IdText } from '../../api/scope.ts'
import { keys, type StoredRecord } from '../../store/keys.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import { danglingReference, readAll } from '../../store/read.ts'
import type { Context } from '../context.ts'
import { evidenceCore } from './shown.ts'

/** The records of evidences. They are never deleted, so a missing one is `CORRUPT`. */
export async function readListed(
  { records }: Context,
  companyId: CompanyId,
  ids: readonly IdText<EvidenceId>[],
): Promise<readonly StoredRecord<EvidenceRecord>[]> {
  const entries = await readAll(
    records,
    ids.map((id) => keys.evidence(companyId, id)),
  )
  return entries.map((entry, i) => {
    if (entry === undefined) throw danglingReference('A list', `evidence ${ids[i]}`)
    return entry
  })
}

/** The summaries of evidences, in their order. */
export async function summarize(
  { log }: Context,
  evidences: readonly EvidenceRecord[],
): Promise<readonly EvidenceSummary[]> {
  const positions = evidences.flatMap(({ position, lastPosition }) =>
    lastPosition === position ? [position] : [position, lastPosition],
  )
  const blocks = (await (await log.anchors()).blocksOf(positions)).values()
  return evidences.map((evidence) => {
    const block = blockMember(blocks.next().value)
    return Object.assign(evidenceCore(evidence), {
      eventCounts: evidence.changes,
      ...block,
      lastEvent: {
        recordedAt: new Date(evidence.lastAt),
        txId: evidence.lastTxId,
        ...(evidence.lastPosition === evidence.position ? block : blockMember(blocks.next().value)),
      },
    })
  })
}

const blockMember = (blockNumber: number | undefined) => (blockNumber === undefined ? {} : { blockNumber })

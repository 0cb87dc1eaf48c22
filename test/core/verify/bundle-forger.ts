import { toHex } from '../../../core/bytes.ts'
import { present } from '../../support/present.ts'
import type { ForgedEvent, ForgedLog } from './forger.ts'

/** Makes bundles of a forged log: every hash, path and signature is correct, also if the content breaks a rule. */

export type Members = Record<string, unknown>

export interface ForgedBundle extends Members {
  origin: string
  subject: Members
  events: Members[]
  keys: Members[]
  checkpoints: Members[]
  renewals: Members[]
}

export interface BundleParts {
  /** With the headers of the events. Default: true. */
  readonly withHeaders?: boolean
  /** Default: the evidence of the first event. */
  readonly subject?: Members
  /** Sizes of the trees that the bundle shows, ascending. Default: the whole log. */
  readonly sizes?: readonly number[]
  /** Index of the key that signs the tree of this size. Default: the newest key in it. */
  readonly signer?: (size: number) => number
  /** Other members of the checkpoint of a size. */
  readonly attestations?: (note: string) => Members
}

function inclusionOf({ tree }: ForgedLog, position: number, sizes: readonly number[]): readonly Members[] {
  return [...new Set(sizes)]
    .filter((size) => size > position)
    .map((treeSize) => ({ treeSize, path: tree.inclusionProof(position, treeSize).map(toHex) }))
}

/** An event that the bundle shows; one that no tree holds is not sealed. */
function eventOf(log: ForgedLog, event: ForgedEvent, { withHeaders = true, sizes = [] }: BundleParts): Members {
  const { opening, header, filesText, filesSalt, fields, files } = event.disclosure
  const position = log.openings.findIndex((each) => toHex(each) === opening)
  const inclusion = position < 0 ? [] : inclusionOf(log, position, sizes).slice(0, 1)
  return {
    opening,
    ...(inclusion.length > 0 && { position }),
    inclusion,
    filesText,
    filesSalt,
    ...(withHeaders && { header, fields }),
    files,
  }
}

/** The members of a log entry that is not an event. */
export const entryAt = (log: ForgedLog, position: number, sizes: readonly number[]): Members => ({
  opening: toHex(present(log.openings[position])),
  position,
  inclusion: inclusionOf(log, position, sizes),
})

/** A bundle of these events. */
export function forgeBundle(log: ForgedLog, events: readonly ForgedEvent[], parts: BundleParts = {}): ForgedBundle {
  const { sizes = [log.tree.size], subject, attestations } = parts
  const newestKey = (size: number): number => log.keys.findLastIndex(({ position }) => position < size)
  const { signer = newestKey } = parts
  return {
    format: 'evidence-registry.bundle',
    version: 1,
    origin: log.origin,
    subject: subject ?? { type: 'evidence', txId: present(events[0]).txId },
    events: events.map((event) => eventOf(log, event, { ...parts, sizes })),
    keys: log.keys.map(({ position }, i) =>
      entryAt(
        log,
        position,
        sizes.filter((size) => signer(size) === i),
      ),
    ),
    checkpoints: sizes.map((size, i) => {
      const note = log.checkpoint(size, { key: signer(size) })
      const [next, { until = null } = {}] = [sizes[i + 1], log.pinned[signer(size)]]
      const proof = (to: number): readonly string[] => log.tree.consistencyProof(size, to).map(toHex)
      return {
        note,
        ...(next !== undefined && next > size && { consistency: proof(next) }),
        ...(until !== null && size <= until && { keyConsistency: proof(until) }),
        cosignatures: [],
        tokens: [],
        anchors: [],
        ...attestations?.(note),
      }
    }),
    validationData: [],
    renewals: [],
  }
}

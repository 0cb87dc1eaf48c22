import type { Proofs } from '../../api/proofs.ts'
import { withSignatures } from '../../log/note.ts'
import { formatTlogProof } from '../../log/tlog-proof.ts'
import { leafHash } from '../../log/tree/hash.ts'
import { invalidInput } from '../../schemas/validation.ts'
import { storedBytes } from '../../store/codec.ts'
import type { Context } from '../context.ts'
import { entryOfHex } from './log-proof.ts'
import type { BundleSources } from './vouchers.ts'

/** The proof of any log entry in the text format of C2SP. */
export const proveAsText =
  ({ log }: Context, { identity, trust }: BundleSources): Proofs['tlogProof'] =>
  async (txId) => {
    const entry = entryOfHex(txId)
    if (entry === undefined) throw invalidInput('txId', 'must be a string of 64 hex digits')
    const [[status], latest] = await Promise.all([
      log.entryStatuses([entry]),
      log.checkpoints.latest(),
      identity.refresh(),
    ])
    if (status === undefined || latest === undefined) return undefined
    // A key is retired once a signed tree holds the next one.
    const key = identity.keys.findLast(({ position }) => position < latest.size)
    const least = Math.max(status.position, key?.position ?? 0) + 1
    const cosigned = trust.witnesses && (await log.checkpoints.cosignedFrom(least, trust.witnesses))
    const checkpoint = cosigned ?? (await log.checkpoints.from(least))
    if (checkpoint === undefined) return undefined
    const root = storedBytes(checkpoint.root, 'A stored root')
    const claim = { leafHash: leafHash(entry), leafIndex: status.position, treeSize: checkpoint.size, root }
    const [{ opening: extra }, path, cosignatures] = await Promise.all([
      log.payloadAt(status.position, entry),
      log.tree.proveInclusion(claim),
      log.checkpoints.cosignatures(checkpoint.size),
    ])
    return formatTlogProof({
      extra,
      index: status.position,
      path,
      checkpoint: withSignatures(checkpoint.note, cosignatures),
    })
  }

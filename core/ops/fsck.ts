import { toHex } from '../bytes.ts'
import type { BlobStore, CheckpointSigner, RecordStore, SignedHead } from '../ports/index.ts'
import type { AttestationVerifier } from './check/attestation-verifier.ts'
import { Check, type FsckHandlers, type FsckStage } from './check/check.ts'
import { checkIdentity } from './check/identity.ts'
import { checkPage, WALK_START } from './check/walk.ts'
import { WholeStore } from './check/whole-store.ts'

export interface FsckStores {
  readonly records: RecordStore
  /** If given, the bytes of every file are read and hashed again, otherwise only those of small files. */
  readonly blobs?: BlobStore | undefined
  /** The root secret. If given, it must be the one of the log. */
  readonly secret?: Uint8Array | undefined
  /** The checkpoint keys. If given, it must have the private key of the newest one. */
  readonly checkpointSigner?: CheckpointSigner | undefined
  /** The tree that was signed last. If given, a store that was set back is reported. */
  readonly signedHead?: SignedHead | undefined
  /** Other trees that are known to be signed, such as the newest one in the local ledger. */
  readonly knownHeads?: readonly SignedHead[]
  /** Verifies the tokens of stamps and the proofs of anchors. Default: only what they stamp is compared. */
  readonly attestations?: AttestationVerifier
}

export interface FsckReport {
  /** How many differences were reported to `onDifference`. */
  readonly differences: number
  /** How many entries, events, records or files were checked in each stage. */
  readonly done: Readonly<Record<FsckStage, number>>
}

/**
 * Checks a store: computes everything that can be computed again from the records, and reports every record that
 * differs. It checks:
 *
 * - each txId against the values and salts of its event,
 * - each leaf, tile and root against the entries of the log,
 * - batches, checkpoint signatures, cosignatures, stamps and anchors against the roots,
 * - each evidence's record against its history,
 * - every index, listing and counter,
 * - the bytes of every file; without `blobs`, only those of small files, which are in the records.
 *
 * It only reads, in bounded memory. The store must not be written to at the same time, or correct records may be
 * reported. It verifies the tokens of stamps and the proofs of anchors only with `attestations`.
 *
 * @param handlers Called for each difference and for progress. Their `signal` stops the check.
 * @throws what the stores throw, and the reason of an aborted `signal`.
 * @example
 * const { differences } = await fsck({ records, blobs }, { onDifference: (difference) => console.log(difference) })
 */
export async function fsck(stores: FsckStores, handlers: FsckHandlers = {}): Promise<FsckReport> {
  const check = new Check(stores.records, handlers)
  const { blobs, signedHead, knownHeads = [], attestations: verifier } = stores
  const identity = await check.runPart('identity', () => checkIdentity(check, stores))
  const signedHeads = distinctHeads([...(signedHead ? [signedHead] : []), ...knownHeads])
  const whole = new WholeStore(check, { identity, signedHeads, verifier })
  const walk = { origin: identity?.origin, blobs, whole }
  for (let at: string | undefined = WALK_START; at !== undefined;) at = await checkPage(check, walk, at)
  await whole.finish()
  return { differences: check.differences, done: check.done }
}

/** Without those that say the same, which would be reported once each. */
const distinctHeads = (heads: readonly SignedHead[]): readonly SignedHead[] => [
  ...new Map(heads.map((head) => [`${head.size} ${toHex(head.root)}`, head])).values(),
]

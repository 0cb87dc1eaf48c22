import { toHex } from '../bytes.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import { parseCheckpointText } from '../log/checkpoint.ts'
import { parseNote } from '../log/note.ts'
import { parseTlogProof } from '../log/tlog-proof.ts'
import { assertOfLog, verifyShown } from './bundle.ts'
import { verifyTree, type VerifiedTrees } from './checkpoint.ts'
import type { BundleResult } from './claims.ts'
import { parseDisclosure } from './event.ts'
import type { Policy } from './policy.ts'
import { Run, type VerifyBundleOptions } from './run.ts'
import type { ShownBundle, ShownDisclosure } from './shown.ts'

/** A tlog-proof has no keys, so a policy must name them. */
export type VerifyTlogProofOptions = VerifyBundleOptions & { readonly policy: Policy }

/**
 * Verifies a C2SP tlog-proof of an event, whose `extra` is the opening of the event. It has no stamps and no content:
 * it proves that the log holds the event, and which witnesses have seen that.
 *
 * @param text Untrusted: whatever it holds, the function returns a result and does not throw.
 * @example
 * const result = verifyTlogProof(await readFile('VIN-1.tlog-proof', 'utf8'), { policy })
 * if (result.state === 'proven') console.log(result.claims.events[0].assurance)
 */
export function verifyTlogProof(text: string, options: VerifyTlogProofOptions): BundleResult {
  const { policy } = options
  const run = new Run(options)
  try {
    const bundle = run.check('document', () => bundleOf(text))
    run.check('keys', () => assertOfLog(policy, bundle.origin))
    return verifyShown(run, bundle, policy, () => treesOf(bundle, policy, run))
  } catch (error) {
    return run.failure(error)
  }
}

/** The proof as a bundle of one event and one tree, without keys. */
function bundleOf(text: string): ShownBundle {
  const { extra, index: position, path, checkpoint: note } = parseTlogProof(text)
  const { origin, size: treeSize } = parseCheckpointText(parseNote(note).text)
  const event = eventOf(extra)
  return {
    origin,
    subject: { type: 'evidence', txId: event.txId },
    events: [{ ...event, place: { position, inclusion: [{ treeSize, path }] } }],
    keys: [],
    checkpoints: [
      { note, consistency: undefined, keyConsistency: undefined, cosignatures: [], tokens: [], anchors: [] },
    ],
    validationData: [],
    renewals: [],
    receipts: [],
    claimedPolicy: undefined,
  }
}

/** The proof does not authenticate its opening, so another one contradicts nothing. */
function eventOf(extra: Uint8Array | undefined): ShownDisclosure {
  try {
    return parseDisclosure({ opening: toHex(extra ?? new Uint8Array()) })
  } catch (cause) {
    throw verificationError('document.entry', 'The extra data of the proof is not the opening of an event', cause)
  }
}

/** A policy may be older than the newest key, and the proof cannot show that a key it knows handed over to that. */
function treesOf({ checkpoints }: ShownBundle, policy: Policy, run: Run): VerifiedTrees {
  try {
    return new Map(checkpoints.map((shown) => verifyTree(shown, policy.keys, run)).map((tree) => [tree.size, tree]))
  } catch (error) {
    if (!isRegistryError(error) || error.rule !== 'checkpoint.not-signed') throw error
    throw verificationError('keys.newer', 'No key that this policy knows signed it: fetch the newer policy', error)
  }
}

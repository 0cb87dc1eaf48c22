import type { Erasure } from '../commitment/receipt.ts'
import { isRegistryError } from '../errors.ts'
import type { VerificationRule } from '../rules.ts'
import type { VerifiedEvent } from './event.ts'
import type { ShownAnchor } from './shown.ts'
import type { CertificateStatus } from './token-verifier.ts'

/** What a verification of a bundle returns. */

/**
 * The checks of a bundle in their order:
 *
 * - `document`: the bundle is well-formed.
 * - `keys`: its keys belong to its log, and the policy pins one of them.
 * - `events`: every event hashes to its txId, and they have one subject. Receipts hash to theirs, and name such events.
 * - `checkpoint`: pinned keys signed the trees, of sizes that they may sign.
 * - `inclusion`: every event, key, renewal and receipt is in these trees.
 * - `attestations`: the cosignatures are valid. Tokens and anchors that are not valid do not count, and are in
 *   `unchecked`.
 * - `expected`: the bundle is about what the caller expects and requires.
 */
export type BundleCheck = 'document' | 'keys' | 'events' | 'checkpoint' | 'inclusion' | 'attestations' | 'expected'

/**
 * What a verification found. Only `refuted` says that something is wrong:
 *
 * - `proven`: every event is in the log, by keys that the policy pins.
 * - `consistent`: the bundle agrees with its own policy, which anyone can make. No policy was pinned.
 * - `pending`: nothing is wrong, but an event is not in a signed tree yet.
 * - `requirement`: it holds, but something that `require` names is missing, or the quorum of witnesses that a pinned
 *   C2SP policy text asks for.
 * - `retired-key`: a key that the policy retired signed the only trees that hold an event, and neither a proof that
 *   leads to the last tree of that key nor a stamp of before its retirement is there. Ask for a new bundle.
 * - `newer-key`: a key that the policy does not know signed them, and no key that it pins and that is not retired leads
 *   to it by handovers. Fetch the newer policy.
 * - `other-log`: it is of another log than the policy's, so nothing is said about it.
 * - `unreadable`: it is not a whole bundle, a newer version made it, a program wrote it again in another form, it is
 *   beyond a limit, or the verifier failed. Nothing is said.
 * - `refuted`: the rule `rule` of the check `check` does not hold. Later checks did not run, and there are no claims.
 */
export type BundleResult =
  | {
      readonly state: 'proven' | 'consistent' | 'pending'
      readonly file?: FileVerdict
      readonly claims: BundleClaims
      readonly unchecked: readonly Unchecked[]
    }
  | {
      readonly state: 'requirement'
      readonly reason: string
      readonly file?: FileVerdict
      readonly claims: BundleClaims
      readonly unchecked: readonly Unchecked[]
    }
  | {
      readonly state: 'other-log' | 'newer-key' | 'retired-key' | 'unreadable' | 'refuted'
      readonly check: BundleCheck
      readonly rule: VerificationRule
      readonly reason: string
      readonly unchecked: readonly Unchecked[]
    }

/**
 * A second verdict, beside the state, about `contents`: the worst of all of them, in this order. It says nothing about
 * the record.
 *
 * - `not-in-this-proof`: every file of the bundle is disclosed, and none has this content.
 * - `not-comparable`: none that is disclosed has it, and some file is not disclosed.
 * - `matches`: a disclosed file has it.
 */
export type FileVerdict = (typeof FILE_VERDICTS)[number]
export const FILE_VERDICTS = ['not-in-this-proof', 'not-comparable', 'matches'] as const

/** One of the `contents`, and the file that has it. */
export type ContentClaim =
  | { readonly name: string; readonly state: 'matches'; readonly fileId: string; readonly txId: string }
  | { readonly name: string; readonly state: Exclude<FileVerdict, 'matches'> }

/** A timestamp authority whose token verified. */
export interface AuthorityClaim {
  /** Its name in the policy. */
  readonly name: string
  /** ms since 1970. */
  readonly genTime: number
  /** The true time is at most this many ms later than `genTime`. 0 if the token does not say. */
  readonly accuracyMs: number
  /** genTime + accuracy, rounded up to whole ms since 1970. */
  readonly notLaterThan: number
  readonly serialNumber: string
  /** Dotted OID. */
  readonly policy: string
  /** The embedded authority of a registry, whose operator can state any time: it proves none to others. */
  readonly isLocalTest: boolean
  /** Of the signer's certificate and its issuers, without the trust anchor. */
  readonly revocation: readonly CertificateStatus[]
}

export interface TimestampClaim {
  /** ms since 1970: a quorum of authorities, of independent ones if it can be, says that the log held it then. */
  readonly notLaterThan: number
  /** Whether the quorum needs the embedded authority of a registry: it proves no time to others. */
  readonly isLocalTest: boolean
  /** All that held, at least a quorum. */
  readonly authorities: readonly AuthorityClaim[]
}

/** A witness whose cosignature verified. */
export interface Cosignature {
  /** The witness's name in the policy. */
  readonly name: string
  /** When the witness says that it saw the checkpoint, ms since 1970. */
  readonly time: number
}

/** A block that holds a checkpoint. */
export interface BundleAnchorClaim extends Omit<ShownAnchor, 'proof'> {
  readonly account: string
  /** The embedded ledger of a registry, whose operator can state any time: it proves none to others. */
  readonly isLocalTest: boolean
  /** The time that the block states, ms since 1970. */
  readonly blockTime: number
  /** Whether the block is known to be part of the chain. */
  readonly isBlockFinal: boolean
}

/** What is proven about one event of a bundle. */
export interface BundleEventClaims extends Pick<VerifiedEvent, 'fields' | 'hiddenFields' | 'files' | 'hiddenFiles'> {
  /** Hex. */
  readonly txId: string
  /** The time that the event commits to, ms since 1970. The registry chose it. */
  readonly committedTime: number
  /** The position of the event, and the size of a signed tree that holds it; `undefined` if it is not sealed. */
  readonly log: { readonly position: number; readonly treeSize: number } | undefined
  /**
   * ms since 1970: the earliest time that an independent quorum of authorities or block states. Without one, the
   * earliest of the operator's own (`isLocalTimeOnly`), or `undefined`.
   */
  readonly notLaterThan: number | undefined
  readonly timestamps: readonly TimestampClaim[]
  readonly anchors: readonly BundleAnchorClaim[]
  /** Witnesses of the policy that cosigned a checkpoint that holds the event. */
  readonly witnesses: readonly Cosignature[]
  /** Whether a quorum of those that were in use did. False if the policy names none. */
  readonly isWitnessed: boolean
  /**
   * The same in words, such as `witnessed by 2 of 3`: several witnesses of one operator, which are a group of the
   * policy, count once. `undefined` if the policy names none.
   */
  readonly assurance: string | undefined
  /** From 1. `undefined` in a bundle without headers, as are the fields. */
  readonly version: number | undefined
}

type StatedTimes = Pick<BundleEventClaims, 'timestamps' | 'anchors'>

/** Whether all who state a time of an event are the operator's own: they prove none to others. */
export function isLocalTimeOnly(stated: StatedTimes): boolean {
  const sources = sourcesOf(stated)
  return sources.length > 0 && sources.every(({ isLocalTest }) => isLocalTest)
}

/** The time of an event, ms since 1970. What the operator states does not count beside an independent source. */
export function notLaterThanOf(stated: StatedTimes): number | undefined {
  const sources = sourcesOf(stated)
  const independent = sources.filter(({ isLocalTest }) => !isLocalTest)
  const times = (independent.length > 0 ? independent : sources).map(({ time }) => time)
  return times.length > 0 ? Math.min(...times) : undefined
}

/** Who states a time. A block that no node has confirmed states none. */
const sourcesOf = ({ timestamps, anchors }: StatedTimes) => [
  ...timestamps.map(({ notLaterThan: time, isLocalTest }) => ({ time, isLocalTest })),
  ...anchors
    .filter(({ isBlockFinal }) => isBlockFinal)
    .map(({ blockTime: time, isLocalTest }) => ({ time, isLocalTest })),
]

/** What is proven about the file that a bundle is about. */
export interface BundleFileClaim {
  readonly fileId: string
  /**
   * `listed`: the event attached or deleted the file; it is not disclosed which of the two. `deleted`: another event
   * deleted it, and says that this one attached it.
   */
  readonly state: 'listed' | 'attached' | 'deleted'
  /** txIds, hex. */
  readonly event: string
  readonly deletedBy: string | undefined
}

/**
 * What is proven about a receipt: that the registry stated, not later than `notLaterThan`, that it erased something. It
 * does not prove that no copy exists.
 */
export interface ReceiptClaims extends StatedTimes {
  /** The entry of the log, hex. */
  readonly txId: string
  readonly log: NonNullable<BundleEventClaims['log']>
  readonly notLaterThan: number | undefined
  /** What it states; `undefined` if the bundle does not show the text. */
  readonly erasure: Erasure | undefined
}

/** What a bundle proves. Nothing else of it is verified. */
export interface BundleClaims {
  readonly origin: string
  /** The event that the bundle is about: its txId in hex. In a history it is version 1, the creation. */
  readonly subject: string
  readonly events: readonly BundleEventClaims[]
  /** Whether the events are all versions of one history from 1 to the last one shown. */
  readonly isHistory: boolean
  readonly file: BundleFileClaim | undefined
  /** Receipts of erasures of these events. */
  readonly receipts: readonly ReceiptClaims[]
  /** Of each of the `contents`, in the same order. */
  readonly contents: readonly ContentClaim[]
}

/** Something that the bundle states or the caller could want, and that is not proven. */
export interface Unchecked {
  readonly what: string
  readonly why: string
  /** The rule that does not hold, if that is why. */
  readonly rule?: VerificationRule
}

/** Ours have up to 200 characters, and may quote a value. */
const MAX_REASON = 500

/** Something that does not count, because it breaks a rule. */
export function broken(what: string, error: unknown): Unchecked {
  if (!isRegistryError(error)) throw error
  const { message, rule } = error
  // An attacker's tokens can all name one OID of 100 kB.
  return { what, why: message.slice(0, MAX_REASON), ...(rule && { rule }) }
}

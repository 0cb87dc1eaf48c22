import { isRegistryError } from '../errors.ts'
import type { ValidationData } from '../ports/index.ts'
import type { VerificationRule } from '../rules.ts'
import type { Verification } from './checkpoint.ts'
import {
  FILE_VERDICTS,
  type BundleCheck,
  type BundleClaims,
  type BundleEventClaims,
  type BundleResult,
  type Unchecked,
} from './claims.ts'
import type { VerifyMlDsa44 } from './cosignatures.ts'
import type { Policy } from './policy.ts'
import { doubtsOn } from './receipts.ts'
import type { ShownAnchor } from './shown.ts'
import type { TokenVerifier } from './token-verifier.ts'
import { MAX_COST, SignatureBudget, type VerifierMemory } from './untrusted.ts'

/** How a verification runs: what it is asked, and what state follows from what it found. */

/** What an event must have: a verified time stamp, a block that is known to be part of its chain, enough witnesses. */
export type Requirement = 'timestamp' | 'anchor' | 'witnesses'

export interface VerifyBundleOptions {
  /** What you pin, from a source that you trust (`parsePolicy`). Default: the bundle's own word. */
  readonly policy?: Policy
  /** `tokens` of `evidence-registry/verify/tokens`. Default: tokens are not checked, and prove nothing. */
  readonly tokens?: TokenVerifier | undefined
  /**
   * `mlDsa44` of `evidence-registry/verify/ml-dsa`, if `needsMlDsa44` says so. Default: cosignatures of type 06 are not
   * checked, and count as absent.
   */
  readonly mlDsa44?: VerifyMlDsa44 | undefined
  /** What the bundle must be about: its subject's txId (hex), the id of its file. */
  readonly expect?: { readonly txId?: string; readonly fileId?: string }
  /** Contents to compare with the files of the bundle, for `file` of the result: SHA-256 in hex and size in bytes. */
  readonly contents?: readonly { readonly name: string; readonly sha256: string; readonly size: number }[]
  /** What every event must have, else the state is `requirement`. Default: nothing. */
  readonly require?: readonly Requirement[]
  /** Your own certificates, CRLs and OCSP responses for the tokens. */
  readonly validationData?: readonly ValidationData[]
  /** Pass the same one for many bundles of a log: what they share is verified once. Default: none. */
  readonly memory?: VerifierMemory
  /** Called when a check begins, to show progress. */
  readonly onCheck?: ((name: BundleCheck) => void) | undefined
  /** Whether a block belongs to its chain, as a node said beforehand; `undefined` and default: not known. */
  readonly isBlockOnChain?: (anchor: Omit<ShownAnchor, 'proof'>) => boolean | undefined
}

type Failure = Extract<BundleResult, { readonly check: BundleCheck }>['state']
/** What a rule says if it does not hold. All others refute, besides those of the form in the first two checks. */
const STATE_OF: { readonly [rule in VerificationRule]?: Failure } = {
  'keys.retired': 'retired-key',
  'document.format': 'unreadable',
  'document.newer': 'unreadable',
  'document.entry': 'unreadable',
  // What was not verified to the end contradicts nothing.
  'form.length': 'unreadable',
  'limit.signatures': 'unreadable',
  'verifier.failed': 'unreadable',
}
const STATE_UNDER_POLICY: typeof STATE_OF = { 'keys.not-pinned': 'other-log', 'keys.newer': 'newer-key' }

const NOT_IN_IT = ': later events, such as a theft, are not in it'

/** One verification of a bundle. */
export class Run implements Verification {
  readonly budget: SignatureBudget
  readonly options: VerifyBundleOptions
  readonly #unchecked = new Map<string, Unchecked>()
  #check: BundleCheck = 'document'

  constructor(options: VerifyBundleOptions) {
    this.options = options
    this.budget = new SignatureBudget(MAX_COST, options.memory)
  }

  check<T>(name: BundleCheck, step: () => T): T {
    this.#check = name
    this.options.onCheck?.(name)
    return step()
  }

  readonly doubt = (one: Unchecked): void => void this.#unchecked.set(`${one.what}: ${one.why}`, one)

  /** What follows from claims that hold. */
  result(claims: BundleClaims): BundleResult {
    if (this.options.policy === undefined)
      this.doubt({ what: 'the keys of the log', why: "No policy is pinned: this is the bundle's own word" })
    this.doubt(
      claims.isHistory
        ? { what: 'later versions', why: `A bundle cannot show that it has the newest version${NOT_IN_IT}` }
        : {
            what: 'the history',
            why: `This is ${claims.events.length === 1 ? 'one event' : 'a part'} of it${NOT_IN_IT}`,
          },
    )
    for (const doubt of doubtsOn(claims)) this.doubt(doubt)
    const file = FILE_VERDICTS.find((verdict) => claims.contents.some(({ state }) => state === verdict))
    const verdict = { ...verdictOn(claims, this.options), ...(file && { file }) }
    return { ...verdict, claims, unchecked: [...this.#unchecked.values()] }
  }

  /** What a policy does not know is not refuted, but what a bundle does not know of itself is. */
  failure(error: unknown): BundleResult {
    const { rule = 'verifier.failed', message: reason } = isRegistryError(error)
      ? error
      : { message: `The bundle cannot be verified: ${String(error)}` }
    // The form of the bundle or of its own policy is that of another program, and a tlog-proof may be cut off in its
    // note. The other checks read what was hashed.
    const isEarly = this.#check === 'document' || this.#check === 'keys'
    const isForm = isEarly && /^(?:form|note|checkpoint)\./.test(rule)
    const known = (this.options.policy && STATE_UNDER_POLICY[rule]) ?? STATE_OF[rule]
    const state = known ?? (isForm ? 'unreadable' : 'refuted')
    const unchecked = [...this.#unchecked.values()]
    return { state, check: this.#check, rule, reason, unchecked }
  }
}

type Verdict =
  | { readonly state: 'proven' | 'consistent' | 'pending' }
  | { readonly state: 'requirement'; readonly reason: string }

function verdictOn({ events }: BundleClaims, { policy, require = [] }: VerifyBundleOptions): Verdict {
  if (events.some(({ log }) => log === undefined)) return { state: 'pending' }
  const reason = missingIn(events, policy?.requiresWitnesses === true ? ['witnesses', ...require] : require)
  if (reason !== undefined) return { state: 'requirement', reason }
  return { state: policy === undefined ? 'consistent' : 'proven' }
}

/** The first event that lacks something required, and what it lacks. */
function missingIn(events: readonly BundleEventClaims[], require: readonly Requirement[]): string | undefined {
  for (const { txId, timestamps, anchors, isWitnessed } of events) {
    const isAnchored = anchors.some(({ isBlockFinal }) => isBlockFinal)
    const held = { timestamp: timestamps.length > 0, anchor: isAnchored, witnesses: isWitnessed }
    const missing = require.find((name) => !held[name])
    if (missing === 'witnesses') return `Too few witnesses of the policy have cosigned a tree with the event ${txId}`
    if (missing !== undefined) return `The event ${txId} has no verified ${missing}`
  }
  return undefined
}

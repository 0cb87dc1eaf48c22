import { toHex } from '../bytes.ts'
import type { ValidationData } from '../ports/index.ts'
import { checkExpected, type Expectation } from './expectation.ts'
import type { Policy } from './policy.ts'
import { checkDeletion } from './proof-deletion.ts'
import { shownProof, type ShownEvent, type ShownProof } from './proof-document.ts'
import { ProofRun } from './proof-run.ts'
import type { AnchoredTransaction } from './proof-anchor.ts'
import { EventCheck } from './proof-event.ts'
import type { EventClaims, ProofClaims, ProofResult, ProofStepName, Unchecked } from './proof-result.ts'
import { distinctTokens, tokenContext, type TokenContext } from './proof-tokens.ts'
import type { TokenVerifier } from './token-verifier.ts'
import { verificationError } from '../errors.ts'
import { asArray, asObject, parseUntrustedJson, type UntrustedObject } from './untrusted.ts'

/** What the verifier knows from trusted sources, and what it wants to know. */
export interface VerifyProofOptions {
  /** Keys, witnesses, authorities and chain accounts (`parsePolicy`). */
  readonly policy: Policy
  /** `tokens` of `evidence-registry/verify/tokens`. Default: `timestamp` and `renewal` are skipped. */
  readonly tokens?: TokenVerifier | undefined
  /** What the proof must be about. */
  readonly expect?: Expectation
  /** Steps that count as failed if they are skipped. `document`, `opening`, `inclusion` and `checkpoint` always do. */
  readonly require?: readonly ProofStepName[]
  /** The caller's own certificates, CRLs and OCSP responses, for example newer ones. */
  readonly validationData?: readonly ValidationData[]
  /**
   * Returns the transaction of an anchor (the `anchor` member of the proof) as the chain holds it, fetched beforehand,
   * or `undefined` if the chain does not hold it. Default: `anchor` is skipped.
   */
  readonly findTransaction?: (anchor: UntrustedObject) => AnchoredTransaction | undefined
}

/** The longest document that is parsed, in characters. */
export const MAX_PROOF_LENGTH = 8_388_608

/**
 * Verifies a proof document, as `GET /merkle/verify/…` and `GET /merkle/proof/…` return it: opening → txId → leaf →
 * root → signed checkpoint → consistency with the stamped and the anchored checkpoint → tokens and anchor. All steps
 * run, also after a failed one.
 *
 * The result holds what is proven (`claims`) only if no step failed. Nothing else of the document is proven: use the
 * claims, not the document. `unchecked` says what was not checked and why.
 *
 * @param text The document as it was received, so that duplicate keys are rejected. Untrusted: whatever it holds, the
 *   function returns a result and does not throw.
 * @example
 * const policy = parsePolicy(await readFile('policy.json', 'utf8'))
 * const { ok, claims, steps } = verifyProof(text, { policy, tokens, expect: { txId }, require: ['timestamp'] })
 * if (!ok) console.error(steps.filter(({ state }) => state === 'failed'))
 * else if (claims.notLaterThan !== undefined) console.log(new Date(claims.notLaterThan))
 */
export function verifyProof(text: string, options: VerifyProofOptions): ProofResult {
  const run = new ProofRun(options.require ?? [])
  const shown = run.step('document', 'event', () => parseDocument(text))
  const context = shown && run.step('document', 'event', () => contextOf(shown, options, run))
  const claims = shown && context ? checkEvents(shown, context, options, run) : undefined
  if (shown && context) run.finish()
  const work = { tokens: shown === undefined ? 0 : countTokens(shown), signatureChecks: run.budget.used }
  const { steps, unchecked } = run
  if (shown === undefined || claims === undefined || !run.isOk)
    return { ok: false, isPending: run.isPending, steps, unchecked, work }
  return { ok: true, claims, steps, unchecked: [...unchecked, ...neverProven(shown)], work }
}

function parseDocument(text: string): ShownProof {
  if (typeof text !== 'string') throw verificationError('The proof document must be a text: pass it as it was received')
  if (text.length > MAX_PROOF_LENGTH)
    throw verificationError(`The proof document has more than ${MAX_PROOF_LENGTH} characters`)
  return shownProof(parseUntrustedJson(text, 'The proof document'))
}

const eventsOf = ({ event, deletion }: ShownProof): readonly ShownEvent[] =>
  deletion === undefined ? [event] : [event, deletion]

const tokensOf = ({ tsa, tsas, renewals }: ShownEvent): readonly UntrustedObject[] => [
  ...(tsa === undefined ? [] : [tsa]),
  ...tsas,
  ...renewals.flatMap((renewal) =>
    asArray(renewal['tokens'], 'tokens').map((token) => asObject(token, 'A token of a renewal')),
  ),
]

/** One stamp may cover both events, so its tokens may be shown twice. */
function countTokens(shown: ShownProof): number {
  try {
    const tokens = eventsOf(shown).flatMap((event) => distinctTokens(tokensOf(event)))
    return new Set(tokens.map(toHex)).size
  } catch {
    return 0
  }
}

const contextOf = (
  shown: ShownProof,
  { policy, validationData = [], tokens }: VerifyProofOptions,
  run: ProofRun,
): TokenContext =>
  tokenContext(eventsOf(shown).map(tokensOf), policy, { own: validationData, budget: run.budget, verifier: tokens })

function checkEvents(
  shown: ShownProof,
  context: TokenContext,
  options: VerifyProofOptions,
  run: ProofRun,
): ProofClaims | undefined {
  const { policy, findTransaction, expect } = options
  const check = (event: ShownEvent, of: 'event' | 'deletion'): EventClaims | undefined =>
    new EventCheck({ shown: event, of, policy, context, run, findTransaction }).claims()
  const event = check(shown.event, 'event')
  const deletion = shown.deletion && check(shown.deletion, 'deletion')
  const deleted = shown.deletion && run.step('deletion', 'deletion', () => checkDeletion(shown, event, deletion))
  const claims = event && {
    ...event,
    ...(deleted && { file: { ...event.file, ...deleted } }),
    ...(deletion && { deletion }),
  }
  if (expect !== undefined) run.step('expected', 'event', () => checkExpected(expect, claims))
  return claims
}

const NEVER_PROVEN = ['status', 'evidenceId', 'fileCount', 'assurance', 'extensions']

/** Members that no cryptography covers. */
const neverProven = ({ event: { members } }: ShownProof): readonly Unchecked[] =>
  NEVER_PROVEN.filter((name) => members[name] !== undefined).map((what) => ({
    what,
    why: 'The registry states it, and nothing proves it',
  }))

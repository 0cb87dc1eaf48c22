import { sha256 } from '@noble/hashes/sha2.js'
import {
  holdsTokens,
  parsePolicy,
  verifyBundle,
  verifyProof,
  type BundleCheck,
  type BundleClaims,
  type BundleEventClaims,
  type Policy,
  type ProofResult,
  type ProofStepName,
  type TokenVerifier,
  type Unchecked,
} from '../../../core/verify/index.ts'
import { actionName, fieldName } from '../event-names.ts'
import { formatTime } from '../format.ts'
import { texts } from '../texts.ts'

/** One check, in the order in which the page shows them. */
export interface Step {
  readonly name: ProofStepName | BundleCheck | 'policy' | 'history' | 'content'
  readonly state: 'ok' | 'failed' | 'skipped'
  readonly detail?: string | undefined
}

/** What is proven about one event. */
export interface FactGroup {
  readonly title: string
  readonly facts: readonly (readonly [name: string, value: string])[]
}

/** What a verification found. `groups` are proven unless the state is `refuted`. */
export interface Outcome {
  readonly state: 'proven' | 'unpinned' | 'pending' | 'refuted'
  readonly reason?: string | undefined
  readonly steps: readonly Step[]
  readonly groups: readonly FactGroup[]
  readonly unchecked: readonly Unchecked[]
}

/** A file of the user. Only its hash is kept. */
export interface HashedFile {
  readonly name: string
  /** Hex. */
  readonly sha256: string
  readonly sizeBytes: number
}

/** Hashes a file piece by piece. It never leaves the browser. */
export async function hashFile(file: File): Promise<HashedFile> {
  const hash = sha256.create()
  const reader = file.stream().getReader()
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) hash.update(piece.value)
  const hex = Array.from(hash.digest(), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return { name: file.name, sha256: hex, sizeBytes: file.size }
}

export interface VerifyRequest {
  /** A bundle or a proof document. Untrusted. */
  readonly text: string
  /** `undefined`: nothing is pinned, so a bundle is only checked for consistency with its own policy. */
  readonly policyText: string | undefined
  /** Whether the policy is the user's own, not that of the server. */
  readonly isPinned: boolean
  readonly files: readonly HashedFile[]
}

/** The libraries for tokens are five times as large as the rest of the verifier, so they are loaded on demand. */
async function tokensFor(text: string): Promise<TokenVerifier | undefined> {
  return holdsTokens(text) ? (await import('../../../core/verify/tokens.ts')).tokens : undefined
}

const isBundle = (text: string): boolean => /"format"\s*:\s*"evidence-registry\.bundle"/.test(text)

/** Whether a dropped file can be a proof. Other files are contents to compare. */
export const looksLikeProof = (text: string): boolean => isBundle(text) || /"(?:opening|merkle)"\s*:/.test(text)

/** Verifies a document in this browser. Never throws for a wrong document. */
export async function verifyDocument({ text, policyText, isPinned, files }: VerifyRequest): Promise<Outcome> {
  let policy: Policy | undefined
  try {
    policy = policyText === undefined ? undefined : parsePolicy(policyText)
  } catch (error) {
    const reason = String(error instanceof Error ? error.message : error)
    return refuted(reason, [], [{ name: 'policy', state: 'failed', detail: reason }])
  }
  const tokens = await tokensFor(text)
  const outcome = isBundle(text) ? bundleOutcome(text, policy, tokens, files) : proofOutcome(text, policy, tokens)
  return outcome.state === 'proven' && !isPinned ? { ...outcome, state: 'unpinned' } : outcome
}

const refuted = (reason: string, unchecked: readonly Unchecked[], steps: readonly Step[]): Outcome => ({
  state: 'refuted',
  reason,
  steps,
  groups: [],
  unchecked,
})

const BUNDLE_CHECKS: readonly BundleCheck[] = ['document', 'keys', 'events', 'checkpoint', 'inclusion', 'attestations']

/** The checks of a bundle end at the first that fails. */
function stepsUntil(failed: BundleCheck, reason: string): readonly Step[] {
  const checks = BUNDLE_CHECKS.includes(failed) ? BUNDLE_CHECKS : [...BUNDLE_CHECKS, failed]
  return checks.map((name, i) => {
    if (name === failed) return { name, state: 'failed', detail: reason }
    return { name, state: i < checks.indexOf(failed) ? 'ok' : 'skipped' }
  })
}

function bundleOutcome(
  text: string,
  policy: Policy | undefined,
  tokens: TokenVerifier | undefined,
  files: readonly HashedFile[],
): Outcome {
  const result = verifyBundle(text, { tokens, ...(policy && { policy }) })
  if (result.state === 'refuted')
    return refuted(result.reason, result.unchecked, stepsUntil(result.check, result.reason))
  const contents = files.map((file) => contentStep(file, result.claims))
  const isWrong = contents.some(({ state }) => state === 'failed')
  return {
    state: isWrong ? 'refuted' : result.state,
    steps: [...bundleSteps(result.claims), ...contents],
    groups: isWrong ? [] : result.claims.events.map(eventFacts),
    unchecked: result.unchecked,
  }
}

/** Compares a file with the hashes that the verified events commit to. A proof may not disclose all of them. */
function contentStep({ name, sha256: hash, sizeBytes }: HashedFile, { events }: BundleClaims): Step {
  const t = texts.verify
  const attached = events.flatMap((event) => [...event.files.values()])
  if (attached.some((file) => 'sha256' in file && file.sha256 === hash && file.size === sizeBytes))
    return { name: 'content', state: 'ok', detail: t.contentMatches(name) }
  const isComplete = events.every(({ version, hiddenFiles }) => version !== undefined && hiddenFiles.length === 0)
  return isComplete
    ? { name: 'content', state: 'failed', detail: t.contentUnknown(name) }
    : { name: 'content', state: 'skipped', detail: t.contentHidden(name) }
}

function bundleSteps({ events, isHistory, origin }: BundleClaims): readonly Step[] {
  const every = (holds: (event: BundleEventClaims) => boolean): Step['state'] =>
    events.every(holds) ? 'ok' : 'skipped'
  const namesOf = (list: readonly string[]): string => [...new Set(list)].join(', ')
  return [
    { name: 'document', state: 'ok' },
    { name: 'events', state: 'ok', detail: `${events.length}` },
    { name: 'history', state: isHistory ? 'ok' : 'skipped' },
    { name: 'inclusion', state: every(({ log }) => log !== undefined) },
    { name: 'checkpoint', state: every(({ log }) => log !== undefined), detail: origin },
    {
      name: 'witnesses',
      state: every(({ witnesses }) => witnesses.length > 0),
      detail: namesOf(events.flatMap(({ witnesses }) => witnesses.map(({ name }) => name))),
    },
    {
      name: 'timestamp',
      state: every(({ timestamps }) => timestamps.length > 0),
      detail: namesOf(
        events.flatMap(({ timestamps }) =>
          timestamps.flatMap(({ authorities }) => authorities.map(({ name }) => name)),
        ),
      ),
    },
    {
      name: 'anchor',
      state: every(({ anchors }) => anchors.length > 0),
      detail: namesOf(events.flatMap(({ anchors }) => anchors.map((each) => `${each.network} ${each.blockNumber}`))),
    },
  ]
}

function eventFacts(event: BundleEventClaims, i: number): FactGroup {
  const t = texts.verify
  const { txId, version, committedTime, notLaterThan, log, fields, hiddenFields, files, hiddenFiles } = event
  const facts: (readonly [string, string | undefined])[] = [
    [t.txId, txId],
    [t.notLaterThan, notLaterThan === undefined ? undefined : formatTime(notLaterThan)],
    [t.stated, formatTime(committedTime)],
    [t.position, log && `${log.position}`],
    ...[...fields]
      .filter(([name]) => name !== 'action')
      .map(([name, value]) => [fieldName(name), shown(value)] as const),
    ...[...files.values()].map((file) =>
      'sha256' in file ? ([file.name, file.sha256] as const) : ([t.deleted, file.id] as const),
    ),
    [t.hidden, hiddenFields.length === 0 ? undefined : hiddenFields.join(', ')],
    [t.hiddenFiles, hiddenFiles.length === 0 ? undefined : `${hiddenFiles.length}`],
  ]
  return {
    title: t.event(version ?? i + 1, actionName(fields.get('action'))),
    facts: facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  }
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function proofOutcome(text: string, policy: Policy | undefined, tokens: TokenVerifier | undefined): Outcome {
  const result = verifyProof(text, { policy: policy ?? { keys: [] }, tokens })
  return {
    state: result.ok ? 'proven' : result.isPending ? 'pending' : 'refuted',
    reason: result.steps.find(({ state }) => state === 'failed')?.reason,
    steps: result.steps.map(({ name, state, reason }) => ({ name, state, detail: reason })),
    groups: proofFacts(result),
    unchecked: result.unchecked,
  }
}

function proofFacts({ claims }: ProofResult): readonly FactGroup[] {
  const t = texts.verify
  if (claims === undefined) return []
  const { txId, log, notLaterThan } = claims
  const time = notLaterThan === undefined ? [] : [[t.notLaterThan, formatTime(notLaterThan)] as const]
  return [{ title: t.event(1), facts: [[t.txId, txId], [t.position, `${log.leafIndex}`], ...time] }]
}

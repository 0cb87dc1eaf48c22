import { sha256 } from '@noble/hashes/sha2.js'
import {
  holdsTokens,
  isLocalTimeOnly,
  needsMlDsa44,
  parsePolicy,
  verifyBundle,
  type BundleCheck,
  type BundleClaims,
  type BundleEventClaims,
  type BundleResult,
  type Policy,
  type TokenVerifier,
  type Unchecked,
  type VerifyBundleOptions,
} from '../../../core/verify/index.ts'
import { adviceOn, isChanged, LOCAL_TEST, LOCAL_TEST_LEDGER, LOCAL_TIME, whyNoDocument } from '../../verdict-advice.ts'
import { lastText, parseJson, type LastText } from '../event-changes.ts'
import { disclosedName, fieldName } from '../event-names.ts'
import { FieldError } from '../failure.ts'
import { formatBound, formatPrinted } from '../format.ts'
import * as texts from '../texts/index.ts'

/** One check, in the order in which the page shows them. */
export interface Step {
  readonly name: BundleCheck | 'history' | 'witnesses' | 'timestamp' | 'anchor' | 'content'
  /** `named`: it holds, by an authority, chain or witness that only the registry itself names. */
  readonly state: 'ok' | 'named' | 'failed' | 'skipped'
  readonly detail?: string | undefined
}

type Fact = readonly [name: string, value: string]

/** What is proven about one event, or about a receipt of an erasure. */
export interface FactGroup {
  readonly title: string
  readonly facts: readonly Fact[]
}

/** What the events say at last, as far as the bundle discloses it. */
export interface Summary {
  readonly name: LastText
  /** It is the same in all events. */
  readonly externalId: string | undefined
  readonly owner: LastText
  /** Not set until a theft is reported. */
  readonly status: LastText
  readonly isHistory: boolean
  readonly eventCount: number
  /** The first event: its txId in hex, and when it was recorded, as the registry states, ms since 1970. */
  readonly first: { readonly txId: string; readonly time: number }
  /** Of the last event, hex. */
  readonly lastTxId: string
  /** ms since 1970: when all events were proven at the latest; `undefined` if one is not. */
  readonly notLaterThan: number | undefined
  /** Only the operator's own authority or ledger states a time of one of them. */
  readonly isLocalTime: boolean
}

/** What a verification found. `claims` and `groups` are what holds. */
export interface Outcome {
  readonly claims?: BundleClaims
  /** Of what holds. */
  readonly summary?: Summary | undefined
  readonly state: BundleResult['state'] | 'changed'
  readonly reason?: string | undefined
  /** What to do. */
  readonly advice?: string | undefined
  readonly steps: readonly Step[]
  /** Of each file of the user, if the record holds. */
  readonly files: BundleClaims['contents']
  readonly groups: readonly FactGroup[]
  readonly unchecked: readonly Unchecked[]
}

/** A file of the user. Only its hash is kept. */
export type HashedFile = NonNullable<VerifyBundleOptions['contents']>[number]

/** Hashes a file piece by piece. It never leaves the browser. */
export async function hashFile(file: File): Promise<HashedFile> {
  const hash = sha256.create()
  const reader = file.stream().getReader()
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) hash.update(piece.value)
  const hex = Array.from(hash.digest(), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return { name: file.name, sha256: hex, size: file.size }
}

/** What is verified, against what. */
export interface VerifyRequest {
  /** A bundle. Untrusted. */
  readonly text: string
  /** What the bundle must be about. */
  readonly expect?: VerifyBundleOptions['expect']
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

/** Whether a dropped text is meant as a bundle. */
export const isBundle = (text: string): boolean => /"format"\s*:\s*"evidence-registry\.bundle"/.test(text)

/** What the JSON of a proof names. It is the short form of a bundle, and is not verified here. */
export interface ShortForm {
  /** `undefined` in the proof of a transaction. */
  readonly evidenceId: string | undefined
  readonly txId: string
  readonly fileId: string | undefined
}

/** Reads what a proof in JSON is about. `undefined` for other texts, such as a content in JSON. */
export function shortFormOf(text: string): ShortForm | undefined {
  const document = parseJson(text)
  if (typeof document !== 'object' || document === null) return undefined
  const { opening, evidenceId, txId, fileId }: Readonly<Record<string, unknown>> = { ...document }
  if (opening === undefined || typeof txId !== 'string') return undefined
  const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
  return { evidenceId: textOf(evidenceId), txId, fileId: textOf(fileId) }
}

/** `onCheck`: called with each check as it begins. After `signal` nothing is wanted any more. */
export type Verify = (
  request: VerifyRequest,
  onCheck: (check: BundleCheck) => void,
  signal: AbortSignal,
) => Promise<Outcome>

/** Verifies a bundle in this browser. Throws only for a text that is not JSON, and for a policy that cannot be read. */
export async function verifyDocument(request: VerifyRequest, onCheck: (check: BundleCheck) => void): Promise<Outcome> {
  const { text, policyText, isPinned } = request
  const why = whyNoDocument(text)
  if (why !== undefined) throw new FieldError({ proof: texts.verify.noDocument(why) })
  const policy = policyText === undefined ? undefined : policyOf(policyText)
  const mlDsa44 =
    policy && needsMlDsa44(policy, text) ? (await import('../../../core/verify/ml-dsa.ts')).mlDsa44 : undefined
  const outcome = bundleOutcome(request, { tokens: await tokensFor(text), mlDsa44, onCheck, ...(policy && { policy }) })
  return outcome.state === 'proven' && !isPinned ? { ...outcome, state: 'consistent' } : outcome
}

function policyOf(text: string): Policy {
  try {
    return parsePolicy(text)
  } catch (error) {
    throw new FieldError({ policy: texts.verify.badPolicy(error instanceof Error ? error.message : String(error)) })
  }
}

/** In the order in which they are made. */
export const BUNDLE_CHECKS: readonly BundleCheck[] = [
  'document',
  'keys',
  'events',
  'checkpoint',
  'inclusion',
  'attestations',
]

/** The checks of a bundle end at the first that fails. `state`: of that one. */
function stepsUntil(failed: BundleCheck, reason: string, state: Step['state']): readonly Step[] {
  const checks = BUNDLE_CHECKS.includes(failed) ? BUNDLE_CHECKS : [...BUNDLE_CHECKS, failed]
  return checks.map((name, i) => {
    if (name === failed) return { name, state, detail: reason }
    return { name, state: i < checks.indexOf(failed) ? 'ok' : 'skipped' }
  })
}

/** Verifies a bundle, with the files of the user. */
function bundleOutcome({ text, files, expect, isPinned }: VerifyRequest, options: VerifyBundleOptions): Outcome {
  const result = verifyBundle(text, { ...options, contents: files, ...(expect && { expect }) })
  if (!('claims' in result)) {
    const { state, reason, check, unchecked } = result
    const steps = stepsUntil(check, reason, state === 'refuted' ? 'failed' : 'skipped')
    const shown = isChanged(result) ? 'changed' : state
    return { state: shown, reason, advice: adviceOn(result), steps, files: [], groups: [], unchecked }
  }
  const { state, claims, unchecked } = result
  const contents = claims.contents.map((file): Step => ({
    name: 'content',
    state: file.state === 'matches' ? 'ok' : 'skipped',
    detail: file.name,
  }))
  return {
    state,
    claims,
    reason: 'reason' in result ? result.reason : undefined,
    steps: [...bundleSteps(claims, isPinned ? 'ok' : 'named'), ...contents],
    summary: summaryOf(claims),
    files: claims.contents,
    groups: [...claims.events.map(eventFacts), ...receiptFacts(claims)],
    unchecked,
  }
}

function summaryOf({ events, isHistory }: BundleClaims): Summary {
  const times = events.flatMap(({ notLaterThan }) => (notLaterThan === undefined ? [] : [notLaterThan]))
  return {
    name: lastText(events, 'name'),
    externalId: lastText(events, 'externalId').text,
    owner: lastText(events, 'owner'),
    status: lastText(events, 'status'),
    isHistory,
    eventCount: events.length,
    first: { txId: events[0]?.txId ?? '', time: events[0]?.committedTime ?? 0 },
    lastTxId: events.at(-1)?.txId ?? '',
    notLaterThan: times.length === events.length ? Math.max(...times) : undefined,
    isLocalTime: events.some(isLocalTimeOnly),
  }
}

/** The checks in the order in which the page shows them. */
function bundleSteps({ events, isHistory, origin }: BundleClaims, attested: Step['state']): readonly Step[] {
  const every = (holds: (event: BundleEventClaims) => boolean, state: Step['state'] = 'ok'): Step['state'] =>
    events.every(holds) ? state : 'skipped'
  const namesOf = (list: readonly string[]): string => [...new Set(list)].join(', ')
  return [
    { name: 'document', state: 'ok' },
    { name: 'events', state: 'ok', detail: `${events.length}` },
    { name: 'history', state: isHistory ? 'ok' : 'skipped' },
    { name: 'inclusion', state: every(({ log }) => log !== undefined) },
    { name: 'checkpoint', state: every(({ log }) => log !== undefined), detail: origin },
    {
      name: 'witnesses',
      state: every(({ isWitnessed, witnesses }) => isWitnessed && witnesses.length > 0, attested),
      detail: namesOf(
        events.flatMap(({ assurance, witnesses }) => [
          ...(assurance === undefined ? [] : [assurance]),
          ...witnesses.map(({ name }) => name),
        ]),
      ),
    },
    {
      name: 'timestamp',
      state: every(({ timestamps }) => timestamps.length > 0, attested),
      detail: namesOf(
        events.flatMap(({ timestamps }) =>
          timestamps.flatMap(({ authorities }) =>
            authorities.map((each) => sourceOf(each.name, each.isLocalTest, LOCAL_TEST)),
          ),
        ),
      ),
    },
    {
      name: 'anchor',
      state: every(({ anchors }) => anchors.some(({ isBlockFinal }) => isBlockFinal), attested),
      detail: namesOf(events.flatMap(({ anchors }) => anchors.map(blockOf))),
    },
  ]
}

function blockOf({ network, blockNumber, isLocalTest, isBlockFinal }: BundleEventClaims['anchors'][number]): string {
  const name = `${network} ${blockNumber}`
  return isBlockFinal ? sourceOf(name, isLocalTest, LOCAL_TEST_LEDGER) : `${name} (${texts.verify.ifConfirmed})`
}

const sourceOf = (name: string, isLocalTest: boolean, note: string): string =>
  isLocalTest ? `${name} (${note})` : name

const boundOf = (time: number | undefined, stated: Parameters<typeof isLocalTimeOnly>[0]): string | undefined =>
  time === undefined ? undefined : sourceOf(formatBound(time, formatPrinted), isLocalTimeOnly(stated), LOCAL_TIME)

/** What is proven about one event, for people. */
function eventFacts(event: BundleEventClaims): FactGroup {
  const t = texts.verify
  const { txId, version, committedTime, notLaterThan, log, fields, hiddenFields, files, hiddenFiles } = event
  const facts: (readonly [string, string | undefined])[] = [
    [t.txId, txId],
    [t.notLaterThan, boundOf(notLaterThan, event)],
    [t.stated, formatPrinted(committedTime)],
    [t.position, log && `${log.position}`],
    ...[...fields]
      .filter(([name]) => name !== 'action')
      .map(([name, value]) => [fieldName(name), shown(value)] as const),
    ...[...files.values()].map((file) =>
      'sha256' in file ? ([file.name, file.sha256] as const) : ([t.deleted, file.id] as const),
    ),
    [t.hidden, hiddenFields.length === 0 ? undefined : hiddenFields.map(fieldName).join(', ')],
    [t.hiddenFiles, hiddenFiles.length === 0 ? undefined : `${hiddenFiles.length}`],
  ]
  return {
    title: t.event(version, disclosedName(fields)),
    facts: facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  }
}

/** What the registry stated that it erased, for people. */
function receiptFacts({ receipts, events }: BundleClaims): readonly FactGroup[] {
  const t = texts.verify
  const versions = new Map(events.map(({ txId, version }) => [txId, version]))
  return receipts.map(({ txId, notLaterThan, erasure, ...stated }) => ({
    title: t.erased(erasure && formatPrinted(erasure.time)),
    facts: [
      ...(erasure?.erased ?? []).map((of): Fact => [
        t.event(versions.get(of.txId)),
        [...of.fields.map(fieldName), ...of.files].join(', '),
      ]),
      [t.txId, txId],
      [t.notLaterThan, boundOf(notLaterThan, stated) ?? texts.trust.noTime],
    ],
  }))
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

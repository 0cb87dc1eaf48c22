import { equalBytes, fromBase64, sha256, toHex } from '../bytes.ts'
import type { ValidationData } from '../ports/index.ts'
import { MAX_CHECKPOINT_TOKENS } from './bundle-format.ts'
import type { PinnedAuthority, Policy } from './policy.ts'
import type { AuthorityClaim, TimestampClaim, Unchecked } from './proof-result.ts'
import type { SignatureBudget } from './signature-budget.ts'
import type { VerifiedToken } from './timestamp.ts'
import type { TokenVerifier } from './token-verifier.ts'
import { verificationError } from '../errors.ts'
import { asArray, asObject, asString, asTime, type UntrustedObject } from './untrusted.ts'

/** The timestamp tokens of a proof document. */

/** Distinct tokens that one event of a document may have. Each costs a few signature checks. */
export const MAX_TOKENS = MAX_CHECKPOINT_TOKENS
/** Certificates, CRLs and OCSP responses that one document may hold. */
const MAX_VALIDATION_DATA = 64
/** Why tokens are not checked. */
export const NO_VERIFIER = 'No token verifier was passed: pass `tokens` of evidence-registry/verify/tokens'

/** What the tokens of a document are verified with. */
export interface TokenContext {
  /** `undefined`: tokens are not checked. */
  readonly verifier: TokenVerifier | undefined
  readonly authorities: readonly PinnedAuthority[]
  readonly quorum: number
  /**
   * All that the document and the caller have: a certificate, CRL or OCSP response found anywhere serves every token.
   */
  readonly validationData: readonly ValidationData[]
  /** By the SHA-256 (hex) of a token: when a later stamp proves that it existed. */
  readonly renewedAt: Map<string, number>
  readonly budget: SignatureBudget
}

/** The bytes of a token. Throws `VERIFICATION_FAILED`. */
function tokenBytes(token: UntrustedObject): Uint8Array {
  const bytes = fromBase64(asString(token['token'], 'token'))
  if (bytes === undefined) throw verificationError('The token is not base64')
  return bytes
}

/**
 * Collects what serves every token. Throws `VERIFICATION_FAILED` if the document holds too much.
 *
 * @param events All tokens of each event, those of renewals included.
 */
export function tokenContext(
  events: readonly (readonly UntrustedObject[])[],
  { authorities = [], timestampQuorum = 1 }: Policy,
  { own, budget, verifier }: Pick<TokenContext, 'budget' | 'verifier'> & { readonly own: readonly ValidationData[] },
): TokenContext {
  const distinct = events.flatMap(distinctTokens)
  const pieces = new Map(
    events
      .flat()
      .flatMap(validationDataOf)
      .map((piece) => [toHex(sha256(piece.der)), piece]),
  )
  if (pieces.size > MAX_VALIDATION_DATA)
    throw verificationError(`The document has more than ${MAX_VALIDATION_DATA} certificates, CRLs and OCSP responses`)
  return {
    verifier,
    authorities,
    quorum: timestampQuorum,
    validationData: [...own, ...pieces.values(), ...embeddedCertificates(distinct, verifier)],
    renewedAt: new Map(),
    budget,
  }
}

/** The different tokens of an event. Throws `VERIFICATION_FAILED` if there are more than `MAX_TOKENS`. */
export function distinctTokens(tokens: readonly UntrustedObject[]): readonly Uint8Array[] {
  const distinct = new Map(tokens.map(tokenBytes).map((der) => [toHex(sha256(der)), der]))
  if (distinct.size > MAX_TOKENS) throw verificationError(`An event has more than ${MAX_TOKENS} tokens`)
  return [...distinct.values()]
}

/** The different certificates in tokens. A token that is malformed has none, and fails when it is verified. */
export function embeddedCertificates(
  tokens: readonly Uint8Array[],
  verifier: TokenVerifier | undefined,
): readonly ValidationData[] {
  const readable = (der: Uint8Array): readonly Uint8Array[] => {
    try {
      return verifier?.certificatesIn(der) ?? []
    } catch {
      return []
    }
  }
  const certificates = tokens.flatMap(readable).map((der) => [toHex(sha256(der)), der] as const)
  return [...new Map(certificates).values()].map((der) => ({ type: 'certificate', der }))
}

/** The document calls it `evidence`. */
function validationDataOf(token: UntrustedObject): readonly ValidationData[] {
  return asArray(token['evidence'] ?? [], 'evidence').map((piece) => {
    const { type, data } = asObject(piece, "A piece of the token's evidence")
    const der = fromBase64(asString(data, "The data of the token's evidence"))
    if (der === undefined || (type !== 'certificate' && type !== 'crl' && type !== 'ocsp'))
      throw verificationError("A piece of the token's evidence must be a certificate, crl or ocsp in base64")
    return { type, der }
  })
}

/** A token that a pinned authority made. */
export interface HeldToken {
  readonly der: Uint8Array
  readonly token: VerifiedToken
  readonly claim: AuthorityClaim
}

/** What became of tokens. */
export interface CheckedTokens {
  readonly held: readonly HeldToken[]
  /** Why a token does not count. */
  readonly rejected: readonly string[]
}

/** Verifies tokens over the same data. An invalid token does not count. */
export function checkTokens(tokens: readonly Uint8Array[], data: Uint8Array, context: TokenContext): CheckedTokens {
  const rejected: string[] = []
  const held = tokens.flatMap((der): readonly HeldToken[] => {
    try {
      return [verifyHeld(der, data, context)]
    } catch (error) {
      if (context.budget.isExceeded) throw error
      rejected.push(error instanceof Error ? error.message : String(error))
      return []
    }
  })
  return { held, rejected }
}

/** The claim of each authority, which counts once, by its earliest token. In the order of their latest times. */
export function authorityClaims(held: readonly HeldToken[]): readonly AuthorityClaim[] {
  const claims = new Map<string, AuthorityClaim>()
  for (const { claim } of held.toSorted((a, b) => latestTime(a.claim) - latestTime(b.claim)))
    if (!claims.has(claim.name)) claims.set(claim.name, claim)
  return [...claims.values()]
}

/** The authorities whose certificates may have been revoked, as far as the document shows. */
export const uncheckedRevocations = (authorities: readonly AuthorityClaim[]): readonly Unchecked[] =>
  authorities
    .filter(({ revocation }) => revocation.some(({ state }) => state === 'unknown'))
    .map(({ name }) => ({
      what: `revocation of ${name}`,
      why: 'No CRL or OCSP response covers each of its certificates',
    }))

function verifyHeld(der: Uint8Array, data: Uint8Array, context: TokenContext): HeldToken {
  const { authorities, validationData, budget, renewedAt, verifier } = context
  if (verifier === undefined) throw verificationError(NO_VERIFIER)
  const renewed = renewedAt.get(toHex(sha256(der)))
  const token = verifier.verifyToken(der, {
    data,
    trustAnchors: authorities.flatMap(({ trustAnchors }) => trustAnchors),
    validationData,
    budget,
    ...(renewed !== undefined && { renewedAt: renewed }),
  })
  const authority = authorities.find(({ trustAnchors }) =>
    trustAnchors.some((anchor) => token.certificates.some((certificate) => equalBytes(certificate, anchor))),
  )
  if (authority === undefined) throw verificationError('The token is not of a pinned authority')
  const { genTime, accuracyMs = 0, serialNumber, policy } = token.info
  const claim = { name: authority.name, genTime, accuracyMs, serialNumber, policy, revocation: token.revocation }
  return { der, token, claim }
}

/** The latest true time that a token allows, ms since 1970. */
const latestTime = ({ genTime, accuracyMs }: AuthorityClaim): number => genTime + Math.ceil(accuracyMs)

/**
 * The time that a quorum of k authorities vouches for: the k-th smallest, because k of them say that the data existed
 * by then. `undefined` if there are fewer.
 *
 * @param claims As `authorityClaims` returns them.
 */
export const timeOfQuorum = (claims: readonly AuthorityClaim[], quorum: number): number | undefined =>
  claims.map(latestTime)[quorum - 1]

export interface ShownTokens {
  /** The member `tsa`: the token whose time the document shows. */
  readonly tsa: UntrustedObject
  /** The member `tsas`: the tokens of all authorities. */
  readonly tsas: readonly UntrustedObject[]
  /** The note with the log's signature alone. */
  readonly noteBytes: Uint8Array
}

/**
 * Verifies the shown token, and that a quorum of authorities stamped by the time that it shows. Throws
 * `VERIFICATION_FAILED`.
 */
export function verifyShownTokens(
  { tsa, tsas, noteBytes }: ShownTokens,
  context: TokenContext,
): { readonly timestamp: TimestampClaim; readonly rejected: readonly string[] } {
  const bytes = tokenBytes(tsa)
  if (!tsas.some((token) => equalBytes(tokenBytes(token), bytes) && hasSameCheckpoint(token, tsa)))
    throw verificationError('tsas does not contain the token of tsa')
  const counted = tsas.filter((token) => hasSameCheckpoint(token, tsa))
  const { held, rejected } = checkTokens(distinctTokens(counted), noteBytes, context)
  const shown = held.find(({ der }) => equalBytes(der, bytes))
  if (shown === undefined) throw verificationError(rejected[0] ?? 'The token of tsa is not of a pinned authority')
  const stated = held.filter(({ der, token }) =>
    counted.filter((each) => equalBytes(tokenBytes(each), der)).every((each) => isStatedBy(each, token)),
  )
  if (!stated.includes(shown) || !isStatedBy(tsa, shown.token))
    throw verificationError('tsa shows another value than its token')
  const shownTime = asTime(tsa['genTime'], 'genTime')
  const byThen = authorityClaims(stated.filter(({ claim }) => claim.genTime <= shownTime))
  const authorities = authorityClaims(stated)
  const notLaterThan = timeOfQuorum(authorities, context.quorum)
  if (byThen.length < context.quorum || notLaterThan === undefined)
    throw verificationError(
      `Expected ${context.quorum} trusted authorities to have stamped by then, got ${byThen.length}`,
    )
  return { timestamp: { notLaterThan, authorities }, rejected }
}

/** The checkpoint of `tsa` is verified in its own step. This makes it hold for the other tokens as well. */
const hasSameCheckpoint = (token: UntrustedObject, tsa: UntrustedObject): boolean =>
  token['checkpoint'] === tsa['checkpoint'] &&
  token['treeSize'] === tsa['treeSize'] &&
  JSON.stringify(token['consistency']) === JSON.stringify(tsa['consistency'])

/** Whether the document shows what the token says. */
function isStatedBy(shown: UntrustedObject, { info }: VerifiedToken): boolean {
  const stated = {
    genTime: new Date(info.genTime).toISOString(),
    serialNumber: info.serialNumber,
    policy: info.policy,
    hashAlgorithm: info.hashAlgorithm,
    imprint: toHex(info.imprint),
  }
  return Object.entries(stated).every(([name, value]) => shown[name] === value)
}

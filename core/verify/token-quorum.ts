import { equalBytes, sha256, toHex } from '../bytes.ts'
import { verificationError } from '../errors.ts'
import type { ValidationData } from '../ports/index.ts'
import type { AuthorityClaim, Unchecked } from './claims.ts'
import type { PinnedAuthority } from './policy.ts'
import type { SignatureBudget } from './untrusted.ts'
import type { TokenVerifier, VerifiedToken } from './token-verifier.ts'

/** How many authorities vouch for a checkpoint: its tokens, verified against the pinned authorities. */

/** Why tokens are not checked. */
export const NO_VERIFIER = 'No token verifier was passed: pass `tokens` of evidence-registry/verify/tokens'

/** What the tokens of a bundle are verified with. */
export interface TokenContext {
  /** `undefined`: tokens are not checked. */
  readonly verifier: TokenVerifier | undefined
  readonly authorities: readonly PinnedAuthority[]
  readonly quorum: number
  /** Certificates, CRLs and OCSP responses from the bundle and the caller, shared by all tokens. */
  readonly validationData: readonly ValidationData[]
  /** By the SHA-256 (hex) of a token: when a later stamp proves that it existed. */
  readonly renewedAt: ReadonlyMap<string, number>
  readonly budget: SignatureBudget
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

/** The authorities whose certificates may have been revoked, as far as the bundle shows. */
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

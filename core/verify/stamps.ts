import { equalBytes, sha256HexOfText } from '../bytes.ts'
import { verificationError } from '../errors.ts'
import type { TreeRange } from '../log/attestation-rules.ts'
import type { ValidationData } from '../ports/index.ts'
import { countsFor, type Verification, type VerifiedTree } from './checkpoint.ts'
import { broken, type AuthorityClaim, type TimestampClaim, type Unchecked } from './claims.ts'
import type { Policy } from './policy.ts'
import { LOCAL_TEST_NOTICE, type TokenVerifier } from './token-verifier.ts'

/** What timestamp authorities attest of a tree. */

/** The entry of a token in the log, and when a later independent stamp shows that it was there, ms since 1970. */
export interface LoggedToken {
  readonly position: number
  readonly at: number
}

/** What the tokens of one tree are verified with. */
export interface StampContext {
  readonly policy: Policy
  readonly run: Verification
  /** `undefined`: tokens are not checked. */
  readonly tokens?: TokenVerifier | undefined
  /** Certificates, CRLs and OCSP responses from the bundle and the caller, shared by all tokens. */
  readonly validationData: readonly ValidationData[]
  /** By the SHA-256 (hex) of a token. */
  readonly logged: ReadonlyMap<string, LoggedToken>
}

/** The different certificates in tokens. A token that is malformed has none, and fails when it is verified. */
export function embeddedCertificates(
  tokens: readonly Uint8Array[],
  { tokens: verifier, run: { budget } }: Pick<StampContext, 'tokens' | 'run'>,
): readonly ValidationData[] {
  const readable = (der: Uint8Array): readonly Uint8Array[] => {
    try {
      if (verifier === undefined) return []
      return budget.onceForAll(['certificates', budget.hashOf(der)], () => verifier.certificatesIn(der, budget))
    } catch {
      return []
    }
  }
  const certificates = tokens.flatMap(readable).map((der) => [budget.hashOf(der), der] as const)
  return [...new Map(certificates).values()].map((der) => ({ type: 'certificate', der }))
}

/** A verified token, with the SHA-256 (hex) of its signer's public key. */
export interface TokenClaim {
  readonly claim: AuthorityClaim
  readonly signerKey: string
}

/**
 * A quorum of k authorities vouches for the time of the k-th: all of them say that the data existed by then. The
 * operator's own authority counts only if there are not k others.
 */
export function stampOf(
  { noteBytes, size, shown }: VerifiedTree,
  context: StampContext,
): { readonly timestamp: TimestampClaim | undefined; readonly tokens: readonly TokenClaim[] } {
  const {
    policy,
    run: { doubt },
    tokens: verifier,
  } = context
  const { authorities: pinned = [] } = policy
  const quorum = quorumOf(policy, size)
  const verified: TokenClaim[] = []
  if (pinned.length > 0 && verifier !== undefined)
    for (const der of shown.tokens)
      try {
        verified.push(tokenClaim(der, { data: noteBytes, size }, verifier, context))
      } catch (error) {
        doubt(broken(`a timestamp of the tree of ${size} entries`, error))
      }
  const sorted = verified.toSorted((a, b) => latestTime(a.claim) - latestTime(b.claim))
  const independent = lastOf(
    sorted.filter(({ claim }) => !claim.isLocalTest),
    quorum,
  )
  const last = independent ?? lastOf(sorted, quorum)
  const claims = differentOf(sorted).map(({ claim }) => claim)
  if (last !== undefined) {
    for (const unchecked of uncheckedRevocations(claims)) doubt(unchecked)
    const isLocalTest = independent === undefined
    return { tokens: sorted, timestamp: { notLaterThan: latestTime(last.claim), isLocalTest, authorities: claims } }
  }
  const why =
    pinned.length === 0
      ? 'No timestamp authority is pinned'
      : shown.tokens.length === 0
        ? 'It has no token'
        : verifier === undefined
          ? 'No token verifier was passed: pass `tokens` of evidence-registry/verify/tokens'
          : `The policy asks for timestamps of ${quorum} pinned authorities, and it has those of ${claims.length}`
  if (shown.tokens.length > 0 || (pinned.length > 0 && shown.anchors.length === 0))
    doubt({ what: `timestamps of the tree of ${size} entries`, why })
  return { tokens: sorted, timestamp: undefined }
}

/** The token that completes a quorum, of tokens with ascending times. */
const lastOf = (sorted: readonly TokenClaim[], quorum: number): TokenClaim | undefined =>
  sorted.find((_, i) => differentOf(sorted.slice(0, i + 1)).length >= quorum)

export const quorumOf = ({ timestampQuorums = [], timestampQuorum = 1 }: Policy, size: number): number =>
  timestampQuorums.find(({ ranges }) => countsFor(size, ranges))?.quorum ?? timestampQuorum

/** Whether a quorum of authorities had stamped a tree by this time, ms since 1970. */
export const isStampedAt = (time: number, tokens: readonly TokenClaim[], quorum: number): boolean =>
  differentOf(tokens.filter(({ claim }) => claim.genTime <= time)).length >= quorum

function tokenClaim(
  der: Uint8Array,
  { data, size }: { readonly data: Uint8Array; readonly size: number },
  { verifyToken }: TokenVerifier,
  { policy: { authorities = [] }, validationData, run: { budget }, logged }: StampContext,
): TokenClaim {
  const { at: renewedAt, position = Infinity } = logged.get(budget.hashOf(der)) ?? {}
  const trustAnchors = budget.once(authorities, () => authorities.flatMap((authority) => authority.trustAnchors))
  // The same for all tokens of the bundle, of which there can be thousands.
  const pieces = budget.once('validation data', () =>
    sha256HexOfText(JSON.stringify(validationData.map((piece) => [piece.type, budget.hashOf(piece.der)]))),
  )
  const key = ['token', renewedAt, pieces, ...[der, data, ...trustAnchors].map((bytes) => budget.hashOf(bytes))]
  const { info, certificates, revocation, signerKey } = budget.onceForAll(key, () =>
    verifyToken(der, { data, trustAnchors, validationData, budget, ...(renewedAt !== undefined && { renewedAt }) }),
  )
  const pinned = authorities.filter((authority) =>
    authority.trustAnchors.some((anchor) => certificates.some((certificate) => equalBytes(certificate, anchor))),
  )
  if (pinned.length === 0) throw verificationError('certificate.not-trusted', 'It is of another authority')
  // The thief of an abandoned authority can stamp old trees, but cannot put the token into the log.
  const isBefore = ({ until }: TreeRange): boolean => until === null || position < until
  const authority = pinned.find(({ ranges }) => countsFor(size, ranges?.filter(isBefore)))
  if (authority === undefined)
    throw verificationError(
      'timestamp.not-in-use',
      'Its authority was not in use for this tree, or the bundle does not prove that the log got the token meanwhile',
    )
  const { genTime, accuracyMs = 0, notLaterThan, serialNumber, policy } = info
  const { name } = authority
  const isLocalTest = budget.once(authority, () => authority.trustAnchors.some(isOfLocalTest))
  const claim = { name, genTime, accuracyMs, notLaterThan, serialNumber, policy, isLocalTest, revocation }
  return { claim, signerKey }
}

const isOfLocalTest = (der: Uint8Array): boolean => new TextDecoder('latin1').decode(der).includes(LOCAL_TEST_NOTICE)

/** The latest true time that a token allows, ms since 1970. */
const latestTime = ({ notLaterThan }: AuthorityClaim): number => notLaterThan

/** The largest part in which no two are of one authority: neither of one name, nor of one signer's key. */
function differentOf(
  [first, ...rest]: readonly TokenClaim[],
  taken: readonly TokenClaim[] = [],
): readonly TokenClaim[] {
  if (first === undefined) return taken
  const without = differentOf(rest, taken)
  if (taken.some(({ claim, signerKey }) => claim.name === first.claim.name || signerKey === first.signerKey))
    return without
  const withFirst = differentOf(rest, [...taken, first])
  return withFirst.length >= without.length ? withFirst : without
}

/** The authorities whose certificates may have been revoked, as far as the bundle shows. */
const uncheckedRevocations = (authorities: readonly AuthorityClaim[]): readonly Unchecked[] =>
  authorities
    .filter(({ revocation }) => revocation.some(({ state }) => state === 'unknown'))
    .map(({ name, revocation }) => ({
      what: `revocation of ${name}`,
      why: `No CRL or OCSP response covers each of its certificates${whyUnusable(revocation)}`,
    }))

const whyUnusable = (revocation: AuthorityClaim['revocation']): string =>
  revocation.flatMap((status) => ('why' in status ? [`; one cannot be used: ${status.why}`] : []))[0] ?? ''

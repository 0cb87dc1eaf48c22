import type { ValidationData } from '../../ports/index.ts'
import { derOfPem } from '../der.ts'
import { readCrl } from './crl.ts'
import { readOcsp } from './ocsp.ts'
import { unusable, type Revoked, type Statement, type StatusRequest } from './statement.ts'
import { isHarmless, MAX_CRL_BYTES, MAX_VALIDATION_DATA_BYTES, type RevocationStatus } from '../token-verifier.ts'

/**
 * The revocation status of a certificate, from CRLs and OCSP responses. The input is untrusted: a piece that is
 * malformed, too large, about another certificate or not signed by its issuer is ignored.
 */

/** What all pieces say about a certificate, and which of them cannot be used. They are read once for all tokens. */
export function knownStatuses(request: StatusRequest, validationData: readonly ValidationData[]): readonly Statement[] {
  const { certificate, issuer, budget } = request
  return budget.once(`statuses ${certificate.fingerprint} ${issuer.fingerprint}`, () =>
    validationData.flatMap((piece) => readStatuses(piece, request)),
  )
}

/** The clock of an authority may be ahead of that of its CA, in ms. */
const MAX_SKEW_MS = 300_000

/**
 * The status at a time, ms since 1970. A revocation counts before `good`, one that may be a compromise before a
 * harmless one, then the earliest one. A piece that was to be replaced before that time says nothing about it.
 */
export function worstOf(statements: readonly Statement[], at: number): RevocationStatus {
  const [revoked] = statements.filter((one) => one.state === 'revoked').toSorted(compareRevocations)
  if (revoked !== undefined) return revoked
  const good = statements.filter((one) => one.state === 'good').toSorted((a, b) => b.asOf - a.asOf)
  const newest = good.find(({ asOf, until }) => Math.max(asOf, until) + MAX_SKEW_MS >= at)
  if (newest !== undefined) return { state: 'good', by: newest.by, asOf: newest.asOf }
  if (good.length > 0) return { state: 'unknown', why: 'it is too old for the token' }
  return statements.find((one) => one.state === 'unknown') ?? { state: 'unknown' }
}

const compareRevocations = (a: Revoked, b: Revoked): number =>
  Number(isHarmless(a)) - Number(isHarmless(b)) || a.revokedAt - b.revokedAt || b.asOf - a.asOf

function readStatuses({ type, der: given }: ValidationData, request: StatusRequest): readonly Statement[] {
  if (type === 'certificate') return []
  try {
    const der = request.budget.once(`der ${request.budget.hashOf(given)}`, () => derOfPem(given))
    const limit = type === 'crl' ? MAX_CRL_BYTES : MAX_VALIDATION_DATA_BYTES
    if (der.length > limit) return unusable(`a list of ${der.length} bytes is too large, at most ${limit} are read`)
    return type === 'crl' ? readCrl(der, request) : readOcsp(der, request)
  } catch (error) {
    if (request.budget.isExceeded) throw error
    // The parsers throw errors of many kinds for malformed input.
    return unusable('it cannot be read')
  }
}

import { BasicConstraints } from 'pkijs'
import { verificationError, type RegistryError } from '../../errors.ts'
import type { VerificationRule } from '../../rules.ts'
import type { SignatureBudget } from '../untrusted.ts'
import { schemeOnce } from './asn1.ts'
import {
  certificateProblem,
  extendedKeyUsage,
  isNamedAsIssuer,
  isSignedBy,
  keyUsage,
  OID_TIME_STAMPING,
  type Certificate,
} from './certificate.ts'
import { isEqualName } from './name.ts'

/**
 * The path from a signer to a trust anchor (RFC 5280 § 6). pkijs is not used for it, because it recurses without end on
 * two certificates that sign each other.
 */

const OID_BASIC_CONSTRAINTS = '2.5.29.19'
const OID_ANY_EXTENDED_KEY_USAGE = '2.5.29.37.0'
/** In the first byte of the KeyUsage bits (RFC 5280 § 4.2.1.3). */
const KEY_CERT_SIGN = 0x04
const MAX_PATH_LENGTH = 8
const MAX_PATH_CHECKS = 64

/** The input of `buildPath`. */
interface PathRequest {
  readonly signer: Certificate
  /** Untrusted certificates that may be issuers. */
  readonly candidates: readonly Certificate[]
  /** The trusted certificates. One of them may be the signer itself. */
  readonly anchors: readonly Certificate[]
  /** ms since 1970: all certificates must be valid then. */
  readonly time: number
  readonly budget: SignatureBudget
}

/** From the signer's certificate to a trust anchor. */
export type Path = readonly [Certificate, ...Certificate[]]

/**
 * Finds the shortest path from the signer (first) to a trust anchor (last). Searches breadth first and visits each
 * certificate once, so that certificates made by an attacker cost a bounded time. Throws `VERIFICATION_FAILED` with the
 * last problem found.
 */
export function buildPath({ signer, candidates, anchors, time, budget }: PathRequest): Path {
  const signerProblem = certificateProblem(signer, time)
  if (signerProblem) throw pathError('certificate.unusable', `of the signer: ${signerProblem}`)
  const anchorIds = new Set(anchors.map(({ fingerprint }) => fingerprint))
  const issuers = [...anchors, ...candidates]
  const visited = new Set([signer.fingerprint])
  const paths: Path[] = [[signer]]
  const isNamed = (issuer: Certificate, subject: Certificate): boolean =>
    budget.once(`named ${issuer.fingerprint} ${subject.fingerprint}`, () => isNamedAsIssuer(issuer, subject, budget))
  let checks = 0
  let problem: string | undefined
  for (const path of paths) {
    const subject = path.at(-1) ?? signer
    if (anchorIds.has(subject.fingerprint)) return path
    if (path.length >= MAX_PATH_LENGTH) continue
    for (const issuer of issuers) {
      if (visited.has(issuer.fingerprint) || !isNamed(issuer, subject)) continue
      if (++checks > MAX_PATH_CHECKS)
        throw pathError('limit.signatures', `more than ${MAX_PATH_CHECKS} possible issuers`)
      const issuerFault = issuerProblem({ issuer, subject, issuersBelow: issuersIn(path, budget), time, budget })
      if (issuerFault) problem = `of an issuer: ${issuerFault}`
      else {
        visited.add(issuer.fingerprint)
        paths.push([...path, issuer])
      }
    }
  }
  throw problem === undefined
    ? pathError('certificate.not-trusted', 'no known certificate issued it')
    : pathError('certificate.unusable', problem)
}

const pathError = (rule: VerificationRule, reason: string): RegistryError =>
  verificationError(rule, `The signer's certificate does not lead to a configured trust anchor: ${reason}`)

/**
 * Counts issuers for the path length constraint: certificates that a CA issued to itself do not count (RFC 5280 §
 * 4.2.1.9).
 */
const issuersIn = (path: Path, budget: SignatureBudget): number =>
  path.slice(1).filter(({ pki }) => !isEqualName(pki.subject, pki.issuer, budget)).length

interface IssuerCandidate {
  readonly issuer: Certificate
  readonly subject: Certificate
  /** How many issuing certificates are between `issuer` and the signer. */
  readonly issuersBelow: number
  /** ms since 1970. */
  readonly time: number
  readonly budget: SignatureBudget
}

/** Returns why `issuer` did not issue `subject`, or was not allowed to. `undefined` if it did. */
function issuerProblem({ issuer, subject, issuersBelow, time, budget }: IssuerCandidate): string | undefined {
  const problem = certificateProblem(issuer, time) ?? authorityProblem(issuer, issuersBelow)
  if (problem) return problem
  const { algorithmId } = subject.pki.signatureAlgorithm
  if (schemeOnce(subject.pki.signatureAlgorithm, budget) === undefined)
    return `the signature algorithm ${algorithmId} of the certificate below it is not accepted`
  return isSignedBy(subject, issuer, budget) ? undefined : 'it did not sign the certificate below it'
}

/** Returns why a certificate may not issue the certificates below it, or `undefined` if it may. */
function authorityProblem(issuer: Certificate, issuersBelow: number): string | undefined {
  const constraints = issuer.extensions.get(OID_BASIC_CONSTRAINTS)?.value
  if (!(constraints instanceof BasicConstraints) || !constraints.cA) return 'it is not a CA'
  const limit = constraints.pathLenConstraint
  if (limit !== undefined && !(typeof limit === 'number' && issuersBelow <= limit))
    return 'its path length constraint is exceeded'
  const usage = keyUsage(issuer)
  if (usage !== undefined && (usage & KEY_CERT_SIGN) === 0) return 'it may not sign certificates'
  const purposes = extendedKeyUsage(issuer)
  if (purposes && !purposes.includes(OID_TIME_STAMPING) && !purposes.includes(OID_ANY_EXTENDED_KEY_USAGE))
    return 'its extended key usage does not include timeStamping'
  return undefined
}

import { Enumerated, GeneralizedTime, type BitString } from 'asn1js'
import type { AlgorithmIdentifier, Extension } from 'pkijs'
import { extensionValue, isSignature, schemeOnce, smallInteger } from './asn1.ts'
import { signatureCost, type Certificate } from './certificate.ts'
import type { RevocationStatus } from '../token-verifier.ts'
import type { SignatureBudget } from '../untrusted.ts'

/** What CRLs (RFC 5280 § 5) and OCSP responses (RFC 6960) have in common. */

const OID_CRL_REASON = '2.5.29.21'
const OID_INVALIDITY_DATE = '2.5.29.24'

/** What a status is read from. */
export interface StatusRequest {
  readonly certificate: Certificate
  readonly issuer: Certificate
  readonly budget: SignatureBudget
}

export type Revoked = Extract<RevocationStatus, { readonly state: 'revoked' }>
/** What a piece says. `until`: when a newer one was to follow (nextUpdate), or else `asOf`; ms since 1970. */
export type Statement =
  | Exclude<RevocationStatus, { readonly state: 'good' }>
  | (Extract<RevocationStatus, { readonly state: 'good' }> & { readonly until: number })

/** A piece that may be about the certificate, and that cannot be used. */
export const unusable = (why: string): readonly Statement[] => [{ state: 'unknown', why }]

/** A statement that a certificate is not revoked. */
export interface GoodStatement {
  readonly by: 'crl' | 'ocsp'
  readonly asOf: number
  readonly until: number
  /** Since when certificates stay in it that expired, ms since 1970. NaN: they do not. */
  readonly keptFrom: number
}

/** An issuer may leave out certificates that have expired (RFC 5280 § 3.3, RFC 6960 § 2.2), or has itself expired. */
export const goodUnlessExpired = (
  { keptFrom, ...good }: GoodStatement,
  { certificate: { notAfter }, issuer }: StatusRequest,
): readonly Statement[] =>
  keptFrom <= notAfter || good.asOf <= Math.min(notAfter, issuer.notAfter)
    ? [{ state: 'good', ...good }]
    : unusable('the certificate or its issuer had expired')

/** What a piece is signed with. */
export interface SignedStatement {
  readonly bytes: Uint8Array
  readonly algorithm: AlgorithmIdentifier
  readonly signature: BitString
}

export function hasSignatureBy(
  signer: Certificate,
  { bytes, algorithm, signature }: SignedStatement,
  budget: SignatureBudget,
): boolean {
  const scheme = schemeOnce(algorithm, budget)
  const { publicKey } = signer
  if (scheme === undefined || publicKey === undefined) return false
  const { valueHexView } = signature.valueBlock
  // A copy with a broken signature must not hide the right one.
  const parts = [bytes, valueHexView].map((part) => budget.hashOf(part))
  return budget.once(`signed ${parts.join(' ')} ${JSON.stringify(scheme)} ${signer.fingerprint}`, () => {
    budget.spend(signatureCost(publicKey), bytes.length)
    return isSignature(scheme, publicKey, bytes, valueHexView)
  })
}

export const hasCritical = (extensions: readonly Extension[] | undefined): boolean =>
  extensions?.some(({ critical }) => critical) === true

/**
 * When and why a certificate was revoked. If a date is given on which it became invalid, that counts if it is earlier.
 * A reason that cannot be read counts as none, which may be a compromise.
 */
export function revocationOf(
  revokedAt: number,
  extensions: readonly Extension[] | undefined,
  budget: SignatureBudget,
): Pick<Revoked, 'revokedAt' | 'reason'> {
  const valueOf = (oid: string): unknown => extensionValue(extensions, oid, budget)
  const [given, invalidity] = [valueOf(OID_CRL_REASON), valueOf(OID_INVALIDITY_DATE)]
  const reason = given instanceof Enumerated ? smallInteger(given) : undefined
  const invalidFrom = invalidity instanceof GeneralizedTime ? invalidity.toDate().getTime() : revokedAt
  return { revokedAt: Math.min(revokedAt, invalidFrom), ...(reason !== undefined && { reason }) }
}

/** The parts of an issuer that a CertID hashes (RFC 6960 § 4.1.1): the DER of its name, and the bits of its key. */
export const issuerIdentity = ({ pki }: Certificate): { readonly name: Uint8Array; readonly key: Uint8Array } => ({
  name: new Uint8Array(pki.subject.valueBeforeDecode),
  key: pki.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView,
})

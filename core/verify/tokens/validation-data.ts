import { digest as digestOf } from '#certificate-crypto'
import { Enumerated, GeneralizedTime, type BaseBlock, type BitString } from 'asn1js'
import {
  BasicOCSPResponse,
  CertificateRevocationList,
  OCSPResponse,
  type SingleResponse,
  type AlgorithmIdentifier,
  type Extension,
} from 'pkijs'
import { equalBytes, sha256, toHex } from '../../bytes.ts'
import type { ValidationData } from '../../ports/index.ts'
import { childrenOf, parseAsn1, isSignature, schemeOf } from './asn1.ts'
import {
  certificateFromSchema,
  certificateProblem,
  extendedKeyUsage,
  isNamedAsIssuer,
  isSignedBy,
  keyUsage,
  type Certificate,
} from './certificate.ts'
import { isHarmless, MAX_VALIDATION_DATA_BYTES, type RevocationStatus } from '../token-verifier.ts'
import type { SignatureBudget } from '../untrusted.ts'

/**
 * Parses certificate revocation lists (RFC 5280 § 5) and OCSP responses (RFC 6960), offline. The input is untrusted: a
 * piece that is malformed, too large, about another certificate or not signed by its issuer is ignored.
 */

/** A responder sends one certificate of its own. More would only cost time. */
const MAX_RESPONDERS = 4

const OID_CRL_REASON = '2.5.29.21'
const OID_INVALIDITY_DATE = '2.5.29.24'
const OID_OCSP_BASIC = '1.3.6.1.5.5.7.48.1.1'
const OID_OCSP_SIGNING = '1.3.6.1.5.5.7.3.9'
/** First byte of the KeyUsage bits (RFC 5280 § 4.2.1.3). */
const CRL_SIGN = 0x02
/** Hash algorithms of an OCSP CertID, by OID. */
const CERT_ID_HASHES: ReadonlyMap<string, 'sha1' | 'sha256'> = new Map([
  ['1.3.14.3.2.26', 'sha1'],
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
])

/** What a status is read from. */
interface StatusRequest {
  readonly certificate: Certificate
  readonly issuer: Certificate
  readonly budget: SignatureBudget
}

type KnownStatus = Exclude<RevocationStatus, { readonly state: 'unknown' }>
type Revoked = Extract<RevocationStatus, { readonly state: 'revoked' }>

/** What all pieces say about a certificate. */
export const knownStatuses = (
  request: StatusRequest,
  validationData: readonly ValidationData[],
): readonly KnownStatus[] => validationData.flatMap((piece) => readStatuses(piece, request))

/** A revocation counts before `good`, one that may be a compromise before a harmless one, then the earliest one. */
export function worstOf(statuses: readonly KnownStatus[]): RevocationStatus {
  const [revoked] = statuses.filter((status) => status.state === 'revoked').toSorted(compareRevocations)
  if (revoked !== undefined) return revoked
  const [newest] = statuses.toSorted((a, b) => b.asOf - a.asOf)
  return newest ?? { state: 'unknown' }
}

const compareRevocations = (a: Revoked, b: Revoked): number =>
  Number(isHarmless(a)) - Number(isHarmless(b)) || a.revokedAt - b.revokedAt || b.asOf - a.asOf

function readStatuses({ type, der }: ValidationData, request: StatusRequest): readonly KnownStatus[] {
  if (der.length > MAX_VALIDATION_DATA_BYTES || type === 'certificate') return []
  const { certificate, issuer, budget } = request
  return budget.once(`${type} ${toHex(sha256(der))} ${certificate.fingerprint} ${issuer.fingerprint}`, () => {
    try {
      return type === 'crl' ? readCrl(der, request) : readOcsp(der, request)
    } catch (error) {
      if (budget.isExceeded) throw error
      // The parsers throw errors of many kinds for malformed input.
      return []
    }
  })
}

interface Signed {
  readonly bytes: Uint8Array
  readonly algorithm: AlgorithmIdentifier
  readonly signature: BitString
}

function hasSignatureBy(
  signer: Certificate,
  { bytes, algorithm, signature }: Signed,
  budget: SignatureBudget,
): boolean {
  const scheme = schemeOf(algorithm)
  if (scheme === undefined || signer.publicKey === undefined) return false
  budget.spend()
  return isSignature(scheme, signer.publicKey, bytes, signature.valueBlock.valueHexView)
}

const hasCritical = (extensions: readonly Extension[] | undefined): boolean =>
  extensions?.some(({ critical }) => critical) === true

// -- CRL

/**
 * Accepts only a full list that the issuer itself signed. Delta, indirect and partitioned lists carry critical
 * extensions, which are not supported.
 */
function readCrl(der: Uint8Array, { certificate, issuer, budget }: StatusRequest): readonly KnownStatus[] {
  const crl = new CertificateRevocationList({ schema: parseAsn1(der, 'The CRL') })
  const usage = keyUsage(issuer)
  if (usage !== undefined && (usage & CRL_SIGN) === 0) return []
  if (!crl.issuer.isEqual(certificate.pki.issuer) || hasCritical(crl.crlExtensions?.extensions)) return []
  const signed = { bytes: crl.tbsView, algorithm: crl.signatureAlgorithm, signature: crl.signatureValue }
  if (!hasSignatureBy(issuer, signed, budget)) return []
  const asOf = crl.thisUpdate.value.getTime()
  const entries = (crl.revokedCertificates ?? []).filter(({ userCertificate }) =>
    userCertificate.isEqual(certificate.pki.serialNumber),
  )
  if (entries.length === 0) return [{ state: 'good', by: 'crl', asOf }]
  if (entries.some(({ crlEntryExtensions }) => hasCritical(crlEntryExtensions?.extensions))) return []
  return entries.map(({ revocationDate, crlEntryExtensions }) => ({
    state: 'revoked',
    by: 'crl',
    asOf,
    ...revocationOf(revocationDate.value.getTime(), crlEntryExtensions?.extensions),
  }))
}

/**
 * When and why a certificate was revoked. If a date is given on which it became invalid, that counts if it is earlier.
 */
function revocationOf(
  revokedAt: number,
  extensions: readonly Extension[] | undefined,
): Pick<Revoked, 'revokedAt' | 'reason'> {
  const valueOf = (oid: string): unknown => extensions?.find(({ extnID }) => extnID === oid)?.parsedValue
  const [reason, invalidity] = [valueOf(OID_CRL_REASON), valueOf(OID_INVALIDITY_DATE)]
  const invalidFrom = invalidity instanceof GeneralizedTime ? invalidity.toDate().getTime() : revokedAt
  return {
    revokedAt: Math.min(revokedAt, invalidFrom),
    ...(reason instanceof Enumerated && { reason: reason.valueBlock.valueDec }),
  }
}

// -- OCSP

function readOcsp(der: Uint8Array, { certificate, issuer, budget }: StatusRequest): readonly KnownStatus[] {
  const { responseStatus, responseBytes } = new OCSPResponse({ schema: parseAsn1(der, 'The OCSP response') })
  if (responseStatus.valueBlock.valueDec !== 0 || responseBytes?.responseType !== OID_OCSP_BASIC) return []
  const schema = parseAsn1(responseBytes.response.valueBlock.valueHexView, 'The basic OCSP response')
  const { tbsResponseData: data, signatureAlgorithm: algorithm, signature } = new BasicOCSPResponse({ schema })
  if (hasCritical(data.responseExtensions)) return []
  const responders = [issuer, ...delegatedResponders(schema, { issuer, time: data.producedAt.getTime(), budget })]
  const signed = { bytes: data.tbsView, algorithm, signature }
  if (!responders.some((responder) => hasSignatureBy(responder, signed, budget))) return []
  return data.responses
    .filter(({ certID }) => identifies(certID, certificate, issuer))
    .filter(({ singleExtensions }) => !hasCritical(singleExtensions))
    .flatMap(readSingleResponse)
}

interface ResponderRequest {
  readonly issuer: Certificate
  /** When the response was made, ms since 1970. */
  readonly time: number
  readonly budget: SignatureBudget
}

/** The certificates in the response that the issuer itself authorised to sign OCSP responses (RFC 6960 § 4.2.2.2). */
function delegatedResponders(basic: BaseBlock, { issuer, time, budget }: ResponderRequest): readonly Certificate[] {
  // BasicOCSPResponse ::= SEQUENCE {
  //   tbsResponseData, signatureAlgorithm, signature, certs [0] EXPLICIT SEQUENCE OF Certificate OPTIONAL }
  const certificates = childrenOf(childrenOf(childrenOf(basic)[3])[0])
  return certificates
    .slice(0, MAX_RESPONDERS)
    .map(certificateFromSchema)
    .filter(
      (responder) =>
        certificateProblem(responder, time) === undefined &&
        extendedKeyUsage(responder)?.includes(OID_OCSP_SIGNING) === true &&
        isNamedAsIssuer(issuer, responder) &&
        isSignedBy(responder, issuer, budget),
    )
}

function identifies(certId: SingleResponse['certID'], certificate: Certificate, issuer: Certificate): boolean {
  const hash = CERT_ID_HASHES.get(certId.hashAlgorithm.algorithmId)
  if (hash === undefined || !certId.serialNumber.isEqual(certificate.pki.serialNumber)) return false
  const digest = (bytes: Uint8Array): Uint8Array => digestOf(hash, bytes)
  const { name, key } = issuerIdentity(issuer)
  return (
    equalBytes(certId.issuerNameHash.valueBlock.valueHexView, digest(name)) &&
    equalBytes(certId.issuerKeyHash.valueBlock.valueHexView, digest(key))
  )
}

/** The parts of an issuer that a CertID hashes (RFC 6960 § 4.1.1): the DER of its name, and the bits of its key. */
export const issuerIdentity = ({ pki }: Certificate): { readonly name: Uint8Array; readonly key: Uint8Array } => ({
  name: new Uint8Array(pki.subject.valueBeforeDecode),
  key: pki.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView,
})

/** CertStatus ::= CHOICE { good [0], revoked [1] { revocationTime, revocationReason [0] OPTIONAL }, unknown [2] }. */
function readSingleResponse({ certStatus, thisUpdate, singleExtensions }: SingleResponse): readonly KnownStatus[] {
  // pkijs types it as `any`.
  const status: BaseBlock = certStatus
  const asOf = thisUpdate.getTime()
  if (status.idBlock.tagNumber === 0) return [{ state: 'good', by: 'ocsp', asOf }]
  const [time, taggedReason] = childrenOf(status)
  if (status.idBlock.tagNumber !== 1 || !(time instanceof GeneralizedTime)) return []
  const [reason] = childrenOf(taggedReason)
  return [
    {
      state: 'revoked',
      by: 'ocsp',
      asOf,
      revokedAt: revocationOf(time.toDate().getTime(), singleExtensions).revokedAt,
      ...(reason instanceof Enumerated && { reason: reason.valueBlock.valueDec }),
    },
  ]
}

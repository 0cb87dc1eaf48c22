import { createHash, verify as verifySignature } from 'node:crypto'
import { Enumerated, GeneralizedTime, type BaseBlock, type BitString } from 'asn1js'
import { BasicOCSPResponse, CertificateRevocationList, OCSPResponse, type SingleResponse } from 'pkijs'
import type { AlgorithmIdentifier, Extension } from 'pkijs'
import { equalBytes } from '../bytes.ts'
import type { ValidationData } from '../ports/index.ts'
import { childrenOf, parseAsn1 } from './asn1.ts'
import {
  certificateFromSchema,
  certificateProblem,
  extendedKeyUsage,
  keyUsage,
  SIGNATURE_HASHES,
  type Certificate,
} from './certificate.ts'
import { MAX_VALIDATION_DATA_BYTES, type RevocationStatus } from './revocation-status.ts'

/**
 * Parses certificate revocation lists (RFC 5280 § 5) and OCSP responses (RFC 6960), offline. The input is untrusted: a
 * piece that is malformed, too large, about another certificate or not signed by its issuer is ignored.
 */

/** A responder sends one certificate of its own. More would only cost time. */
const MAX_RESPONDERS = 4

const OID_CRL_REASON = '2.5.29.21'
const OID_OCSP_BASIC = '1.3.6.1.5.5.7.48.1.1'
const OID_OCSP_SIGNING = '1.3.6.1.5.5.7.3.9'
/** First byte of the KeyUsage bits (RFC 5280 § 4.2.1.3). */
const CRL_SIGN = 0x02
/** Hash algorithms of an OCSP CertID, by OID. */
const CERT_ID_HASHES: ReadonlyMap<string, string> = new Map([
  ['1.3.14.3.2.26', 'sha1'],
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
])

/** As `revocationStatus` in revocation.ts, for parsed certificates. */
export function revocationStatusOf(
  certificate: Certificate,
  issuer: Certificate,
  validationData: readonly ValidationData[],
): RevocationStatus {
  let newest: RevocationStatus = { state: 'unknown' }
  for (const piece of validationData) {
    const status = readStatus(piece, certificate, issuer)
    if (status?.state === 'revoked') return status
    if (status !== undefined && (newest.state === 'unknown' || status.asOf > newest.asOf)) newest = status
  }
  return newest
}

type KnownStatus = Exclude<RevocationStatus, { readonly state: 'unknown' }>

function readStatus(
  { type, der }: ValidationData,
  certificate: Certificate,
  issuer: Certificate,
): KnownStatus | undefined {
  if (der.length > MAX_VALIDATION_DATA_BYTES || type === 'certificate') return undefined
  try {
    return type === 'crl' ? readCrl(der, certificate, issuer) : readOcsp(der, certificate, issuer)
  } catch {
    // The parsers throw errors of many kinds for malformed input.
    return undefined
  }
}

interface Signed {
  readonly bytes: Uint8Array
  readonly algorithm: AlgorithmIdentifier
  readonly signature: BitString
}

function isSignedBy(signer: Certificate, { bytes, algorithm, signature }: Signed): boolean {
  const scheme = SIGNATURE_HASHES.get(algorithm.algorithmId)
  const key = signer.x509.publicKey
  return (
    scheme !== undefined &&
    key.asymmetricKeyType === scheme.keyType &&
    verifySignature(scheme.hash, bytes, { key, dsaEncoding: 'der' }, signature.valueBlock.valueHexView)
  )
}

const hasCritical = (extensions: readonly Extension[] | undefined): boolean =>
  extensions?.some(({ critical }) => critical) === true

// -- CRL

/**
 * Accepts only a full list that the issuer itself signed. Delta, indirect and partitioned lists carry critical
 * extensions, which are not supported.
 */
function readCrl(der: Uint8Array, certificate: Certificate, issuer: Certificate): KnownStatus | undefined {
  const crl = new CertificateRevocationList({ schema: parseAsn1(der, 'The CRL') })
  const usage = keyUsage(issuer)
  if (usage !== undefined && (usage & CRL_SIGN) === 0) return undefined
  if (!crl.issuer.isEqual(certificate.pki.issuer) || hasCritical(crl.crlExtensions?.extensions)) return undefined
  const signed = { bytes: crl.tbsView, algorithm: crl.signatureAlgorithm, signature: crl.signatureValue }
  if (!isSignedBy(issuer, signed)) return undefined
  const asOf = crl.thisUpdate.value.getTime()
  const entry = crl.revokedCertificates?.find(({ userCertificate }) =>
    userCertificate.isEqual(certificate.pki.serialNumber),
  )
  if (!entry) return { state: 'good', by: 'crl', asOf }
  const extensions = entry.crlEntryExtensions?.extensions ?? []
  if (hasCritical(extensions)) return undefined
  const reason: unknown = extensions.find(({ extnID }) => extnID === OID_CRL_REASON)?.parsedValue
  return {
    state: 'revoked',
    by: 'crl',
    asOf,
    revokedAt: entry.revocationDate.value.getTime(),
    ...(reason instanceof Enumerated && { reason: reason.valueBlock.valueDec }),
  }
}

// -- OCSP

function readOcsp(der: Uint8Array, certificate: Certificate, issuer: Certificate): KnownStatus | undefined {
  const { responseStatus, responseBytes } = new OCSPResponse({ schema: parseAsn1(der, 'The OCSP response') })
  if (responseStatus.valueBlock.valueDec !== 0 || responseBytes?.responseType !== OID_OCSP_BASIC) return undefined
  const schema = parseAsn1(responseBytes.response.valueBlock.valueHexView, 'The basic OCSP response')
  const { tbsResponseData: data, signatureAlgorithm: algorithm, signature } = new BasicOCSPResponse({ schema })
  if (hasCritical(data.responseExtensions)) return undefined
  const responders = [issuer, ...delegatedResponders(schema, issuer, data.producedAt.getTime())]
  const signed = { bytes: data.tbsView, algorithm, signature }
  if (!responders.some((responder) => isSignedBy(responder, signed))) return undefined
  const single = data.responses.find(({ certID }) => identifies(certID, certificate, issuer))
  if (single === undefined || hasCritical(single.singleExtensions)) return undefined
  return readSingleResponse(single)
}

/** The certificates in the response that the issuer itself authorised to sign OCSP responses (RFC 6960 § 4.2.2.2). */
function delegatedResponders(basic: BaseBlock, issuer: Certificate, time: number): readonly Certificate[] {
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
        SIGNATURE_HASHES.has(responder.pki.signatureAlgorithm.algorithmId) &&
        responder.x509.checkIssued(issuer.x509) &&
        responder.x509.verify(issuer.x509.publicKey),
    )
}

function identifies(certId: SingleResponse['certID'], certificate: Certificate, issuer: Certificate): boolean {
  const hash = CERT_ID_HASHES.get(certId.hashAlgorithm.algorithmId)
  if (hash === undefined || !certId.serialNumber.isEqual(certificate.pki.serialNumber)) return false
  const digest = (bytes: Uint8Array): Uint8Array => createHash(hash).update(bytes).digest()
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
function readSingleResponse({ certStatus, thisUpdate }: SingleResponse): KnownStatus | undefined {
  // pkijs types it as `any`.
  const status: BaseBlock = certStatus
  const asOf = thisUpdate.getTime()
  if (status.idBlock.tagNumber === 0) return { state: 'good', by: 'ocsp', asOf }
  const [time, taggedReason] = childrenOf(status)
  if (status.idBlock.tagNumber !== 1 || !(time instanceof GeneralizedTime)) return undefined
  const [reason] = childrenOf(taggedReason)
  return {
    state: 'revoked',
    by: 'ocsp',
    asOf,
    revokedAt: time.toDate().getTime(),
    ...(reason instanceof Enumerated && { reason: reason.valueBlock.valueDec }),
  }
}

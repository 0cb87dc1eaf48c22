import { createHash, verify as verifySignature } from 'node:crypto'
import { Enumerated, fromBER, type BaseBlock, type BitString } from 'asn1js'
import { BasicOCSPResponse, CertificateRevocationList, OCSPResponse, type SingleResponse } from 'pkijs'
import type { AlgorithmIdentifier, Extension } from 'pkijs'
import { equalBytes } from '../bytes.ts'
import type { ValidationData } from '../ports.ts'
import {
  certificateFromSchema,
  extendedKeyUsage,
  keyUsage,
  SIGNATURE_HASHES,
  whyNotUsable,
  type Certificate,
} from './certificate.ts'
import { MAX_VALIDATION_DATA_BYTES, type RevocationStatus } from './revocation-status.ts'
import { children } from './timestamp-response.ts'

/**
 * What certificate revocation lists (RFC 5280 § 5) and OCSP answers (RFC 6960) say of a certificate, offline. The input is anybody's: a
 * piece that is malformed, too large, about another certificate or not signed by its issuer says nothing.
 */

/** Responders name one certificate of their own; more are an attempt to cost time. */
const MAX_RESPONDERS = 4

const OID_CRL_REASON = '2.5.29.21'
const OID_OCSP_BASIC = '1.3.6.1.5.5.7.48.1.1'
const OID_OCSP_SIGNING = '1.3.6.1.5.5.7.3.9'
/** First byte of the KeyUsage bits. */
const CRL_SIGN = 0x02
const SHA1 = '1.3.14.3.2.26'
const CERT_ID_HASHES: ReadonlyMap<string, string> = new Map([
  [SHA1, 'sha1'],
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
])

/** What the evidence says of a certificate. Where one piece says revoked, it is; else the newest counts. */
export function statusOf(
  certificate: Certificate,
  issuer: Certificate,
  evidence: readonly ValidationData[],
): RevocationStatus {
  let found: RevocationStatus = { state: 'unknown' }
  for (const piece of evidence) {
    const status = readPiece(piece, certificate, issuer)
    if (status === undefined || found.state === 'revoked') continue
    const isNews = status.state === 'revoked' || found.state === 'unknown' || status.asOf > found.asOf
    if (isNews) found = status
  }
  return found
}

type Told = Exclude<RevocationStatus, { readonly state: 'unknown' }>

function readPiece({ type, der }: ValidationData, certificate: Certificate, issuer: Certificate): Told | undefined {
  if (der.length > MAX_VALIDATION_DATA_BYTES || type === 'certificate') return undefined
  try {
    return type === 'crl' ? fromCrl(der, certificate, issuer) : fromOcsp(der, certificate, issuer)
  } catch {
    // The parsers throw all sorts of errors over malformed input.
    return undefined
  }
}

/** Exactly one BER value. */
export function decode(der: Uint8Array): BaseBlock {
  const { offset, result } = fromBER(der.slice())
  if (offset !== der.length) throw new TypeError('not exactly one value')
  return result
}

function isSignedBy(
  signer: Certificate,
  signed: Uint8Array,
  algorithm: AlgorithmIdentifier,
  signature: BitString,
): boolean {
  const scheme = SIGNATURE_HASHES.get(algorithm.algorithmId)
  const key = signer.x509.publicKey
  return (
    scheme !== undefined &&
    key.asymmetricKeyType === scheme.keyType &&
    verifySignature(scheme.hash, signed, { key, dsaEncoding: 'der' }, signature.valueBlock.valueHexView)
  )
}

const hasCritical = (extensions: readonly Extension[] | undefined): boolean =>
  extensions?.some(({ critical }) => critical) === true

// -- CRL

/** A full list of the issuer itself. Delta, indirect and partitioned lists carry critical extensions, which are not understood. */
function fromCrl(der: Uint8Array, certificate: Certificate, issuer: Certificate): Told | undefined {
  const crl = new CertificateRevocationList({ schema: decode(der) })
  const usage = keyUsage(issuer)
  if (usage !== undefined && (usage & CRL_SIGN) === 0) return undefined
  if (!crl.issuer.isEqual(certificate.pki.issuer) || hasCritical(crl.crlExtensions?.extensions)) return undefined
  if (!isSignedBy(issuer, crl.tbsView, crl.signatureAlgorithm, crl.signatureValue)) return undefined
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

function fromOcsp(der: Uint8Array, certificate: Certificate, issuer: Certificate): Told | undefined {
  const { responseStatus, responseBytes } = new OCSPResponse({ schema: decode(der) })
  if (responseStatus.valueBlock.valueDec !== 0 || responseBytes?.responseType !== OID_OCSP_BASIC) return undefined
  const schema = decode(responseBytes.response.valueBlock.valueHexView)
  const basic = new BasicOCSPResponse({ schema })
  const { tbsResponseData: data, signatureAlgorithm, signature } = basic
  if (hasCritical(data.responseExtensions)) return undefined
  const producedAt = data.producedAt.getTime()
  const responders = [issuer, ...delegates(schema, issuer, producedAt)]
  if (!responders.some((responder) => isSignedBy(responder, data.tbsView, signatureAlgorithm, signature)))
    return undefined
  const single = data.responses.find(({ certID }) => isAbout(certID, certificate, issuer))
  if (single === undefined || hasCritical(single.singleExtensions)) return undefined
  return told(single)
}

/** Certificates in the answer to which the issuer itself has delegated its signing (RFC 6960 § 4.2.2.2). */
function delegates(basic: BaseBlock, issuer: Certificate, time: number): readonly Certificate[] {
  // BasicOCSPResponse ::= SEQUENCE { tbsResponseData, signatureAlgorithm, signature, certs [0] EXPLICIT SEQUENCE OF Certificate OPTIONAL }
  const certificates = children(children(children(basic)[3])[0])
  return certificates
    .slice(0, MAX_RESPONDERS)
    .map(certificateFromSchema)
    .filter(
      (responder) =>
        whyNotUsable(responder, time) === undefined &&
        extendedKeyUsage(responder)?.includes(OID_OCSP_SIGNING) === true &&
        SIGNATURE_HASHES.has(responder.pki.signatureAlgorithm.algorithmId) &&
        responder.x509.checkIssued(issuer.x509) &&
        responder.x509.verify(issuer.x509.publicKey),
    )
}

function isAbout(certId: SingleResponse['certID'], certificate: Certificate, issuer: Certificate): boolean {
  const hash = CERT_ID_HASHES.get(certId.hashAlgorithm.algorithmId)
  if (hash === undefined || !certId.serialNumber.isEqual(certificate.pki.serialNumber)) return false
  const digest = (bytes: Uint8Array): Uint8Array => createHash(hash).update(bytes).digest()
  const { name, key } = issuerIdentity(issuer)
  return (
    equalBytes(certId.issuerNameHash.valueBlock.valueHexView, digest(name)) &&
    equalBytes(certId.issuerKeyHash.valueBlock.valueHexView, digest(key))
  )
}

/** What RFC 6960 § 4.1.1 hashes of an issuer: DER of its name, and its key's bits. */
export const issuerIdentity = ({ pki }: Certificate): { readonly name: Uint8Array; readonly key: Uint8Array } => ({
  name: new Uint8Array(pki.subject.valueBeforeDecode),
  key: pki.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView,
})

/** CertStatus ::= CHOICE { good [0], revoked [1] { revocationTime, revocationReason [0] OPTIONAL }, unknown [2] }. */
function told({ certStatus, thisUpdate }: SingleResponse): Told | undefined {
  const status = certStatus as BaseBlock
  const asOf = thisUpdate.getTime()
  if (status.idBlock.tagNumber === 0) return { state: 'good', by: 'ocsp', asOf }
  if (status.idBlock.tagNumber !== 1) return undefined
  const [time, tagged] = children(status)
  const reason = children(tagged)[0]
  return {
    state: 'revoked',
    by: 'ocsp',
    asOf,
    revokedAt: (time as unknown as { toDate(): Date }).toDate().getTime(),
    ...(reason instanceof Enumerated && { reason: reason.valueBlock.valueDec }),
  }
}

import { digest as digestOf } from '#certificate-crypto'
import { ObjectIdentifier, OctetString, Primitive, Sequence, type BaseBlock } from 'asn1js'
import { IssuerAndSerialNumber, type SignerInfo } from 'pkijs'
import { equalBytes } from '../../bytes.ts'
import { childrenOf, HASHES } from './asn1.ts'
import { subjectKeyIdentifier, type Certificate } from './certificate.ts'
import type { HashName } from '../token-verifier.ts'
import { OID_TST_INFO, timestampError, type ParsedToken } from './response.ts'

/** The signed attributes of a token (RFC 5652 § 11, RFC 5035), and the certificate that they name. */

const OID_CONTENT_TYPE = '1.2.840.113549.1.9.3'
const OID_MESSAGE_DIGEST = '1.2.840.113549.1.9.4'
const OID_SIGNING_CERTIFICATE = '1.2.840.113549.1.9.16.2.12'
const OID_SIGNING_CERTIFICATE_V2 = '1.2.840.113549.1.9.16.2.47'

/** The value of each signed attribute, by type. */
type Attributes = ReadonlyMap<string, BaseBlock>

/** Rejects an attribute that occurs twice or has not exactly one value (RFC 5652 § 5.3). */
export function signedAttributes(signer: SignerInfo): Attributes {
  const attributes = new Map<string, BaseBlock>()
  for (const { type, values } of signer.signedAttrs?.attributes ?? []) {
    // pkijs types the values as `any`.
    const [value, ...others]: readonly (BaseBlock | undefined)[] = values
    if (attributes.has(type)) throw timestampError(`the signed attribute ${type} occurs twice`)
    if (!value || others.length > 0) throw timestampError(`the signed attribute ${type} has not exactly one value`)
    attributes.set(type, value)
  }
  return attributes
}

/** The signed attributes name the content's type and digest (RFC 5652 § 11.1 and § 11.2). */
export function checkContentAttributes(attributes: Attributes, token: ParsedToken): void {
  const type = attributes.get(OID_CONTENT_TYPE)
  if (!(type instanceof ObjectIdentifier) || type.valueBlock.toString() !== OID_TST_INFO)
    throw timestampError('the content-type attribute does not name a TSTInfo')
  const digest = attributes.get(OID_MESSAGE_DIGEST)
  const hash = HASHES.get(token.signer.digestAlgorithm.algorithmId)
  if (!hash) throw timestampError(`the digest algorithm ${token.signer.digestAlgorithm.algorithmId} is not accepted`)
  const expected = digestOf(hash.name, token.content)
  if (!(digest instanceof OctetString) || !equalBytes(digest.valueBlock.valueHexView, expected))
    throw timestampError('the message-digest attribute is not the digest of the content')
}

/**
 * Finds the certificate that the signer info names and that ESSCertID or ESSCertIDv2 (RFC 5035) fixes by its hash. If
 * both attributes are present, both must match. The hash covers issuer and serial number, so the optional issuerSerial
 * adds nothing.
 */
export function signingCertificate(
  attributes: Attributes,
  signer: SignerInfo,
  certificates: readonly Certificate[],
): Certificate {
  const named = certificates.filter((certificate) => isNamedBy(signer, certificate))
  if (named.length === 0) throw timestampError("the signer's certificate is not in it")
  const ids = certificateIds(attributes)
  if (ids.length === 0) throw timestampError("no ESSCertID names the signer's certificate")
  const match = named.find(({ der }) => ids.every(({ algorithm, hash }) => equalBytes(digestOf(algorithm, der), hash)))
  if (!match) throw timestampError("the ESSCertID is not that of the signer's certificate")
  return match
}

interface CertificateId {
  readonly algorithm: HashName | 'sha1'
  readonly hash: Uint8Array
}

function certificateIds(attributes: Attributes): readonly CertificateId[] {
  const [v1, v2] = [attributes.get(OID_SIGNING_CERTIFICATE), attributes.get(OID_SIGNING_CERTIFICATE_V2)]
  const ids: CertificateId[] = []
  if (v1) ids.push({ algorithm: 'sha1', hash: octets(childrenOf(firstCertId(v1))[0]) })
  if (v2) {
    const [first, second] = childrenOf(firstCertId(v2))
    // hashAlgorithm is DEFAULT SHA-256: absent in that case.
    if (first instanceof Sequence) ids.push({ algorithm: essAlgorithm(first), hash: octets(second) })
    else ids.push({ algorithm: 'sha256', hash: octets(first) })
  }
  return ids
}

/** SigningCertificate(V2) ::= SEQUENCE { certs SEQUENCE OF ESSCertID(v2), … }. The first one is the signer's. */
const firstCertId = (attribute: BaseBlock): BaseBlock | undefined => childrenOf(childrenOf(attribute)[0])[0]

function essAlgorithm(identifier: Sequence): HashName {
  const oid = childrenOf(identifier)[0]
  const hash = oid instanceof ObjectIdentifier ? HASHES.get(oid.valueBlock.toString()) : undefined
  if (!hash) throw timestampError('the hash algorithm of the ESSCertID is not accepted')
  return hash.name
}

function octets(block: BaseBlock | undefined): Uint8Array {
  if (!(block instanceof OctetString)) throw timestampError('the ESSCertID is malformed')
  return block.valueBlock.valueHexView
}

/** A signer is named by issuer and serial number, or by subject key identifier (RFC 5652 § 5.3). */
function isNamedBy(signer: SignerInfo, certificate: Certificate): boolean {
  const sid: unknown = signer.sid
  if (sid instanceof IssuerAndSerialNumber)
    return certificate.pki.issuer.isEqual(sid.issuer) && certificate.pki.serialNumber.isEqual(sid.serialNumber)
  const identifier = subjectKeyIdentifier(certificate)
  // [0] IMPLICIT OCTET STRING.
  return identifier !== undefined && sid instanceof Primitive && equalBytes(sid.valueBlock.valueHexView, identifier)
}

import { createHash, verify as verifySignature } from 'node:crypto'
import { ObjectIdentifier, OctetString, Primitive, Sequence, type BaseBlock } from 'asn1js'
import { IssuerAndSerialNumber, type SignerInfo } from 'pkijs'
import { equalBytes } from '../bytes.ts'
import type { ValidationData } from '../ports.ts'
import { statusOf } from './revocation-data.ts'
import { isVoidBy, MAX_VALIDATION_DATA_BYTES, type RevocationStatus } from './revocation-status.ts'
import {
  keyWeakness,
  parseCertificate,
  pathToAnchor,
  SIGNATURE_HASHES,
  subjectKeyIdentifier,
  whyNotTimestamping,
  type Certificate,
} from './certificate.ts'
import type { HashName, TimestampInfo } from './timestamp-info.ts'
import {
  children,
  guarded,
  HASHES,
  MAX_CERTIFICATES,
  OID_TST_INFO,
  parseToken,
  refuse,
  withoutLeadingZeros,
  type ParsedToken,
} from './timestamp-response.ts'

export { MAX_TIMESTAMP_BYTES, type TimestampInfo } from './timestamp-info.ts'

/** A genTime may be so far beyond the verifier's own clock. */
export const MAX_CLOCK_SKEW_MS = 300_000

const OID_CONTENT_TYPE = '1.2.840.113549.1.9.3'
const OID_MESSAGE_DIGEST = '1.2.840.113549.1.9.4'
const OID_SIGNING_CERTIFICATE = '1.2.840.113549.1.9.16.2.12'
const OID_SIGNING_CERTIFICATE_V2 = '1.2.840.113549.1.9.16.2.47'
const OID_RSA = '1.2.840.113549.1.1.1'

/**
 * Reads a whole DER TimeStampResp (RFC 3161 § 2.4.2) that was granted. Believes it: nothing is checked but its form.
 * Throws `VERIFICATION_FAILED`.
 */
export const parseTimeStampResponse = (der: Uint8Array): TimestampInfo => guarded(() => parseToken(der).info)

export type VerifyTimeStampOptions = {
  /** DER certificates that are trusted to issue (or to be) the signer's certificate. At least one. */
  readonly trustAnchors: readonly Uint8Array[]
  /** What the request held, a positive integer big-endian: the token must hold the same. */
  readonly nonce?: Uint8Array
  /** Dotted OID that the token must have. */
  readonly policy?: string
  /** The verifier's present, ms since 1970: a genTime more than `MAX_CLOCK_SKEW_MS` beyond it is refused. Default: no such check. */
  readonly at?: number
  /** What was kept with the token: certificates that may lead to an anchor, CRLs, OCSP answers. Default: none, and revocation is not looked at. */
  readonly evidence?: readonly ValidationData[]
} & (
  | { readonly data: Uint8Array }
  /** The data's digest by the token's own hash algorithm. */
  | { readonly digest: Uint8Array }
)

/**
 * Verifies a whole DER TimeStampResp over `data` (or its digest): status, form, imprint, nonce, policy, exactly one signer, the signed
 * attributes (RFC 5652 § 11, RFC 5035), the signature, the signer's purpose (RFC 3161 § 2.3) and its path to a trust anchor,
 * all certificates valid at genTime. RSA (2048 to 8192 bits) or ECDSA (P-256, P-384, P-521) with SHA-256, -384 or -512. Where evidence is
 * given, none may be revoked by it in a way that voids the token (RFC 3161 § 4); what it says of none of them is `unknown`, and no
 * reason to refuse. Throws `VERIFICATION_FAILED` with the reason.
 */
export function verifyTimeStamp(der: Uint8Array, options: VerifyTimeStampOptions): VerifiedTimestamp {
  const { info, path } = verifyToPath(der, options)
  const { evidence } = options
  if (evidence === undefined) return info
  const revocation = path.slice(0, -1).map((certificate, i) => ({
    subject: certificate.x509.subject,
    ...statusOf(certificate, path[i + 1] ?? certificate, evidence),
  }))
  const voiding = revocation.find((status) => isVoidBy(status, info.genTime))
  if (voiding) throw refuse(`the certificate of ${voiding.subject.replace(/\s+/g, ' ')} was revoked`)
  return { ...info, revocation }
}

/** Verifies likewise, and answers the certificates (DER) from the signer's to the trust anchor that it leads to. */
export const timestampPath = (der: Uint8Array, options: VerifyTimeStampOptions): readonly Uint8Array[] =>
  verifyToPath(der, options).path.map((certificate) => certificate.der)

/** What a verified token says, and what the evidence says of its certificates. */
export interface VerifiedTimestamp extends TimestampInfo {
  /** Of the signer's certificate and those above it, without the trust anchor. Only where evidence was given. */
  readonly revocation?: readonly (RevocationStatus & { readonly subject: string })[]
}

interface VerifiedPath {
  readonly info: TimestampInfo
  readonly path: readonly Certificate[]
}

function verifyToPath(der: Uint8Array, options: VerifyTimeStampOptions): VerifiedPath {
  const anchors = options.trustAnchors.map((anchor) => parseCertificate(anchor))
  return guarded(() => {
    const token = parseToken(der)
    checkClaim(token.info, options)
    const attributes = signedAttributes(token.signer)
    checkContentAttributes(attributes, token)
    const certificates = [...token.certificates, ...keptCertificates(options.evidence)]
    const certificate = signingCertificate(attributes, { ...token, certificates }, anchors)
    checkSignature(token.signer, certificate)
    const purpose = whyNotTimestamping(certificate)
    if (purpose) throw refuse(`the signer's certificate is not for timestamps: ${purpose}`)
    return { info: token.info, path: pathToAnchor(certificate, certificates, anchors, token.info.genTime) }
  })
}

/** Trusted no more than those in the token: at most as many, and what is none is passed over. */
function keptCertificates(evidence: readonly ValidationData[] = []): readonly Certificate[] {
  const kept = evidence.filter(({ type, der }) => type === 'certificate' && der.length <= MAX_VALIDATION_DATA_BYTES)
  return kept.slice(0, MAX_CERTIFICATES).flatMap(({ der }) => {
    try {
      return [parseCertificate(der)]
    } catch {
      return []
    }
  })
}

// -- claim

function checkClaim(info: TimestampInfo, options: VerifyTimeStampOptions): void {
  const digest = 'data' in options ? createHash(info.hashAlgorithm).update(options.data).digest() : options.digest
  if (!equalBytes(digest, info.imprint)) throw refuse('the imprint is that of other data')
  if (options.nonce) {
    if (!info.nonce) throw refuse('the nonce is missing')
    if (!equalBytes(withoutLeadingZeros(options.nonce), info.nonce))
      throw refuse('the nonce is not that of the request')
  }
  if (options.policy !== undefined && info.policy !== options.policy)
    throw refuse(`the policy is ${info.policy}, not ${options.policy}`)
  if (options.at !== undefined && info.genTime > options.at + MAX_CLOCK_SKEW_MS)
    throw refuse('genTime lies in the future')
}

// -- signed attributes

/** The values of each signed attribute by type; one that is there twice is refused (RFC 5652 § 5.3). */
type Attributes = ReadonlyMap<string, BaseBlock>

function signedAttributes(signer: SignerInfo): Attributes {
  const attributes = new Map<string, BaseBlock>()
  for (const { type, values } of signer.signedAttrs?.attributes ?? []) {
    const [value, ...others] = values as readonly (BaseBlock | undefined)[]
    if (attributes.has(type)) throw refuse(`the signed attribute ${type} is there twice`)
    if (!value || others.length > 0) throw refuse(`the signed attribute ${type} has not exactly one value`)
    attributes.set(type, value)
  }
  return attributes
}

/** RFC 5652 § 11.1 and § 11.2: what the signature covers names the content's type and digest. */
function checkContentAttributes(attributes: Attributes, token: ParsedToken): void {
  const type = attributes.get(OID_CONTENT_TYPE)
  if (!(type instanceof ObjectIdentifier) || type.valueBlock.toString() !== OID_TST_INFO)
    throw refuse('the content-type attribute does not name a TSTInfo')
  const digest = attributes.get(OID_MESSAGE_DIGEST)
  const hash = HASHES.get(token.signer.digestAlgorithm.algorithmId)
  if (!hash) throw refuse(`the digest algorithm ${token.signer.digestAlgorithm.algorithmId} is not accepted`)
  const expected = createHash(hash.name).update(token.content).digest()
  if (!(digest instanceof OctetString) || !equalBytes(digest.valueBlock.valueHexView, expected))
    throw refuse('the message-digest attribute is not the digest of the content')
}

/**
 * The certificate that the signer names and that ESSCertID or ESSCertIDv2 (RFC 5035) fixes by its hash; where both attributes are
 * there, both must. The hash covers issuer and serial number, so the optional issuerSerial adds nothing.
 */
function signingCertificate(attributes: Attributes, token: ParsedToken, anchors: readonly Certificate[]): Certificate {
  const named = [...token.certificates, ...anchors].filter((certificate) => isNamedBy(token.signer, certificate))
  if (named.length === 0) throw refuse("the signer's certificate is not in it")
  const hashes: { readonly algorithm: string; readonly hash: Uint8Array }[] = []
  const v1 = attributes.get(OID_SIGNING_CERTIFICATE)
  const v2 = attributes.get(OID_SIGNING_CERTIFICATE_V2)
  if (v1) hashes.push({ algorithm: 'sha1', hash: octets(children(firstCertId(v1))[0]) })
  if (v2) {
    const [first, second] = children(firstCertId(v2))
    // hashAlgorithm is left out where it is SHA-256.
    if (first instanceof Sequence) hashes.push({ algorithm: essAlgorithm(first), hash: octets(second) })
    else hashes.push({ algorithm: 'sha256', hash: octets(first) })
  }
  if (hashes.length === 0) throw refuse('no ESSCertID fixes the signer’s certificate')
  const fixed = named.find(({ der }) =>
    hashes.every(({ algorithm, hash }) => equalBytes(createHash(algorithm).update(der).digest(), hash)),
  )
  if (!fixed) throw refuse("the ESSCertID is not that of the signer's certificate")
  return fixed
}

/** SigningCertificate(V2) ::= SEQUENCE { certs SEQUENCE OF ESSCertID(v2), … }; the first is the signer's. */
const firstCertId = (attribute: BaseBlock): BaseBlock | undefined => children(children(attribute)[0])[0]

function essAlgorithm(identifier: Sequence): HashName {
  const oid = children(identifier)[0]
  const hash = oid instanceof ObjectIdentifier ? HASHES.get(oid.valueBlock.toString()) : undefined
  if (!hash) throw refuse('the hash algorithm of the ESSCertID is not accepted')
  return hash.name
}

function octets(block: BaseBlock | undefined): Uint8Array {
  if (!(block instanceof OctetString)) throw refuse('the ESSCertID cannot be read')
  return block.valueBlock.valueHexView
}

/** RFC 5652 § 5.3: by issuer and serial number, or by subject key identifier. */
function isNamedBy(signer: SignerInfo, certificate: Certificate): boolean {
  const sid: unknown = signer.sid
  if (sid instanceof IssuerAndSerialNumber)
    return certificate.pki.issuer.isEqual(sid.issuer) && certificate.pki.serialNumber.isEqual(sid.serialNumber)
  const identifier = subjectKeyIdentifier(certificate)
  // [0] IMPLICIT OCTET STRING.
  return identifier !== undefined && sid instanceof Primitive && equalBytes(sid.valueBlock.valueHexView, identifier)
}

// -- signature

function checkSignature(signer: SignerInfo, certificate: Certificate): void {
  const oid = signer.signatureAlgorithm.algorithmId
  // CMS lets rsaEncryption stand for PKCS #1 v1.5 with the digest algorithm (RFC 3370 § 3.2).
  const digest = HASHES.get(signer.digestAlgorithm.algorithmId)?.name
  const scheme = oid === OID_RSA && digest ? { keyType: 'rsa', hash: digest } : SIGNATURE_HASHES.get(oid)
  if (!scheme) throw refuse(`the signature algorithm ${oid} is not accepted`)
  const key = certificate.x509.publicKey
  const weakness = keyWeakness(key)
  if (weakness) throw refuse(`the signer's certificate holds ${weakness}`)
  if (key.asymmetricKeyType !== scheme.keyType) throw refuse("the signature is not of the kind of the signer's key")
  const signature = signer.signature.valueBlock.valueHexView
  // The attributes' own bytes, under the tag of a SET (RFC 5652 § 5.4).
  const signed = new Uint8Array(signer.signedAttrs?.encodedValue ?? new ArrayBuffer(0))
  if (!verifySignature(scheme.hash, signed, { key, dsaEncoding: 'der' }, signature))
    throw refuse('the signature is wrong')
}

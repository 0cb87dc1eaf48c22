import { createHash, verify as verifySignature } from 'node:crypto'
import { ObjectIdentifier, OctetString, Primitive, Sequence, type BaseBlock } from 'asn1js'
import { IssuerAndSerialNumber, type SignerInfo } from 'pkijs'
import { equalBytes } from '../bytes.ts'
import type { ValidationData } from '../ports/index.ts'
import { childrenOf, withParserErrors } from './asn1.ts'
import {
  keyProblem,
  parseCertificate,
  buildPath,
  SIGNATURE_HASHES,
  subjectKeyIdentifier,
  timestampingProblem,
  type Certificate,
} from './certificate.ts'
import { MAX_VALIDATION_DATA_BYTES, voidsTimestamp, type RevocationStatus } from './revocation-status.ts'
import type { HashName, TimestampInfo } from './timestamp-info.ts'
import {
  HASHES,
  MAX_CERTIFICATES,
  OID_TST_INFO,
  parseToken,
  timestampError,
  withoutLeadingZeros,
  type ParsedToken,
} from './timestamp-response.ts'
import { revocationStatusOf } from './validation-data.ts'

/** How far a genTime may be ahead of the verifier's clock, ms. */
export const MAX_CLOCK_SKEW_MS = 300_000

const OID_CONTENT_TYPE = '1.2.840.113549.1.9.3'
const OID_MESSAGE_DIGEST = '1.2.840.113549.1.9.4'
const OID_SIGNING_CERTIFICATE = '1.2.840.113549.1.9.16.2.12'
const OID_SIGNING_CERTIFICATE_V2 = '1.2.840.113549.1.9.16.2.47'
const OID_RSA = '1.2.840.113549.1.1.1'

/**
 * Parses a DER TimeStampResp (RFC 3161 § 2.4.2) that was granted. Checks only its form: the signature is not verified.
 *
 * @returns What the token states.
 * @throws `VERIFICATION_FAILED` if the response is malformed, too large or not granted.
 */
export const parseTimestampResponse = (der: Uint8Array): TimestampInfo => parse(der, ({ info }) => info)

const parse = <T>(der: Uint8Array, use: (token: ParsedToken) => T): T =>
  withParserErrors('The timestamp does not verify: it', () => use(parseToken(der)))

/** What a token is verified against. Exactly one of `data` and `digest` is required. */
export type VerifyTimestampOptions = {
  /** DER certificates that are trusted to issue (or to be) the signer's certificate. At least one. */
  readonly trustAnchors: readonly Uint8Array[]
  /** The nonce of the request, a positive big-endian integer: the token must hold the same. Default: not checked. */
  readonly nonce?: Uint8Array
  /** Dotted OID that the token must have. Default: any policy. */
  readonly policy?: string
  /**
   * The verifier's current time, ms since 1970: rejects a genTime more than `MAX_CLOCK_SKEW_MS` later. Default: not
   * checked.
   */
  readonly at?: number
  /**
   * CRLs, OCSP responses and additional certificates that were stored with the token. They are not trusted by
   * themselves. Default: none, and revocation is not checked.
   */
  readonly validationData?: readonly ValidationData[]
} & (
  | { readonly data: Uint8Array }
  /** The data's digest, with the token's own hash algorithm. */
  | { readonly digest: Uint8Array }
)

/** What a verified token states, and the revocation status of its certificates. */
export interface VerifiedTimestamp extends TimestampInfo {
  /**
   * Of the signer's certificate and its issuers, without the trust anchor. Present only if `validationData` was given.
   */
  readonly revocation?: readonly (RevocationStatus & { readonly subject: string })[]
}

/**
 * Verifies a DER TimeStampResp over data, or over its digest. Pure, offline and synchronous.
 *
 * Checks status, form, imprint, nonce and policy; that there is exactly one signer; the signed attributes (RFC 5652 §
 * 11, RFC 5035) and the signature; that the signer's certificate is for timestamps (RFC 3161 § 2.3); and its path to a
 * trust anchor, with all certificates valid at genTime. Accepts RSA (2048 to 8192 bits) and ECDSA (P-256, P-384, P-521)
 * with SHA-256, SHA-384 or SHA-512.
 *
 * With `validationData`, a token whose certificate was revoked is rejected (RFC 3161 § 4, `voidsTimestamp`). A
 * certificate that the data does not cover has the state `unknown`, which is accepted.
 *
 * @param der The whole response, at most `MAX_TIMESTAMP_BYTES`.
 * @throws `VERIFICATION_FAILED` with the first check that failed.
 * @example
 * const trustAnchors = certificatesFromPem(await readFile('tsa-ca.pem', 'utf8'))
 * const { genTime } = verifyTimestamp(response, { data: checkpoint, trustAnchors })
 */
export function verifyTimestamp(der: Uint8Array, options: VerifyTimestampOptions): VerifiedTimestamp {
  const { info, path } = verifyToPath(der, options)
  const { validationData } = options
  if (validationData === undefined) return info
  const revocation = path.slice(0, -1).map((certificate, i) => ({
    subject: certificate.x509.subject,
    ...revocationStatusOf(certificate, path[i + 1] ?? certificate, validationData),
  }))
  const revoked = revocation.find((status) => voidsTimestamp(status, info.genTime))
  if (revoked) throw timestampError(`the certificate of ${revoked.subject.replace(/\s+/g, ' ')} was revoked`)
  return { ...info, revocation }
}

/**
 * Verifies a token as `verifyTimestamp`, without revocation.
 *
 * @returns The DER certificates of its path, from the signer's certificate to the trust anchor.
 * @throws `VERIFICATION_FAILED`, as `verifyTimestamp`.
 */
export const timestampCertificates = (der: Uint8Array, options: VerifyTimestampOptions): readonly Uint8Array[] =>
  verifyToPath(der, options).path.map((certificate) => certificate.der)

interface VerifiedPath {
  readonly info: TimestampInfo
  readonly path: readonly Certificate[]
}

function verifyToPath(der: Uint8Array, options: VerifyTimestampOptions): VerifiedPath {
  const anchors = options.trustAnchors.map(parseCertificate)
  return parse(der, (token) => {
    const { info, signer } = token
    checkClaims(info, options)
    const attributes = signedAttributes(signer)
    checkContentAttributes(attributes, token)
    const candidates = [...token.certificates, ...storedCertificates(options.validationData)]
    const certificate = signingCertificate(attributes, signer, [...candidates, ...anchors])
    checkSignature(signer, certificate)
    const problem = timestampingProblem(certificate)
    if (problem) throw timestampError(`the signer's certificate is not for timestamps: ${problem}`)
    return { info, path: buildPath({ signer: certificate, candidates, anchors, time: info.genTime }) }
  })
}

/** Additional certificates are trusted no more than those in the token. Those that cannot be parsed are ignored. */
function storedCertificates(validationData: readonly ValidationData[] = []): readonly Certificate[] {
  const pieces = validationData.filter(
    ({ type, der }) => type === 'certificate' && der.length <= MAX_VALIDATION_DATA_BYTES,
  )
  return pieces.slice(0, MAX_CERTIFICATES).flatMap(({ der }) => {
    try {
      return [parseCertificate(der)]
    } catch {
      return []
    }
  })
}

// -- claims

function checkClaims(info: TimestampInfo, options: VerifyTimestampOptions): void {
  const digest = 'data' in options ? createHash(info.hashAlgorithm).update(options.data).digest() : options.digest
  if (!equalBytes(digest, info.imprint)) throw timestampError('the imprint belongs to other data')
  if (options.nonce) {
    if (!info.nonce) throw timestampError('the nonce is missing')
    if (!equalBytes(withoutLeadingZeros(options.nonce), info.nonce))
      throw timestampError('the nonce is not the one of the request')
  }
  if (options.policy !== undefined && info.policy !== options.policy)
    throw timestampError(`expected the policy ${options.policy}, got ${info.policy}`)
  if (options.at !== undefined && info.genTime > options.at + MAX_CLOCK_SKEW_MS)
    throw timestampError('genTime lies in the future')
}

// -- signed attributes

/** The value of each signed attribute, by type. */
type Attributes = ReadonlyMap<string, BaseBlock>

/** Rejects an attribute that occurs twice or has not exactly one value (RFC 5652 § 5.3). */
function signedAttributes(signer: SignerInfo): Attributes {
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
function checkContentAttributes(attributes: Attributes, token: ParsedToken): void {
  const type = attributes.get(OID_CONTENT_TYPE)
  if (!(type instanceof ObjectIdentifier) || type.valueBlock.toString() !== OID_TST_INFO)
    throw timestampError('the content-type attribute does not name a TSTInfo')
  const digest = attributes.get(OID_MESSAGE_DIGEST)
  const hash = HASHES.get(token.signer.digestAlgorithm.algorithmId)
  if (!hash) throw timestampError(`the digest algorithm ${token.signer.digestAlgorithm.algorithmId} is not accepted`)
  const expected = createHash(hash.name).update(token.content).digest()
  if (!(digest instanceof OctetString) || !equalBytes(digest.valueBlock.valueHexView, expected))
    throw timestampError('the message-digest attribute is not the digest of the content')
}

/**
 * Finds the certificate that the signer info names and that ESSCertID or ESSCertIDv2 (RFC 5035) fixes by its hash. If
 * both attributes are present, both must match. The hash covers issuer and serial number, so the optional issuerSerial
 * adds nothing.
 */
function signingCertificate(
  attributes: Attributes,
  signer: SignerInfo,
  certificates: readonly Certificate[],
): Certificate {
  const named = certificates.filter((certificate) => isNamedBy(signer, certificate))
  if (named.length === 0) throw timestampError("the signer's certificate is not in it")
  const ids = certificateIds(attributes)
  if (ids.length === 0) throw timestampError("no ESSCertID names the signer's certificate")
  const match = named.find(({ der }) =>
    ids.every(({ algorithm, hash }) => equalBytes(createHash(algorithm).update(der).digest(), hash)),
  )
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

// -- signature

function checkSignature(signer: SignerInfo, certificate: Certificate): void {
  const oid = signer.signatureAlgorithm.algorithmId
  // In CMS, rsaEncryption means PKCS #1 v1.5 with the signer's digest algorithm (RFC 3370 § 3.2).
  const digest = HASHES.get(signer.digestAlgorithm.algorithmId)?.name
  const scheme = oid === OID_RSA && digest ? { keyType: 'rsa', hash: digest } : SIGNATURE_HASHES.get(oid)
  if (!scheme) throw timestampError(`the signature algorithm ${oid} is not accepted`)
  const key = certificate.x509.publicKey
  const problem = keyProblem(key)
  if (problem) throw timestampError(`the signer's public key is ${problem}`)
  if (key.asymmetricKeyType !== scheme.keyType)
    throw timestampError("the signature algorithm does not match the type of the signer's key")
  const signature = signer.signature.valueBlock.valueHexView
  // The bytes of the attributes, with the tag of a SET (RFC 5652 § 5.4).
  const signed = new Uint8Array(signer.signedAttrs?.encodedValue ?? new ArrayBuffer(0))
  if (!verifySignature(scheme.hash, signed, { key, dsaEncoding: 'der' }, signature))
    throw timestampError('the signature is wrong')
}

import { digest as digestOf } from '#certificate-crypto'
import {
  GeneralizedTime,
  ObjectIdentifier,
  OctetString,
  Primitive,
  Sequence,
  Set as AsnSet,
  type BaseBlock,
  type Integer,
} from 'asn1js'
import { ContentInfo, EncapsulatedContentInfo, IssuerAndSerialNumber, SignerInfo, TimeStampResp, TSTInfo } from 'pkijs'
import { equalBytes, toHex } from '../../bytes.ts'
import { verificationError, type RegistryError } from '../../errors.ts'
import type { VerificationRule } from '../../rules.ts'
import { childrenOf, isEqualInteger, microsOf, parseAsn1, smallInteger, taggedIn, timeOf, HASHES } from './asn1.ts'
import { readableCertificates, subjectKeyIdentifier, type Certificate } from './certificate.ts'
import { isEqualName } from './name.ts'
import { MAX_TIMESTAMP_BYTES, type HashName, type TimestampInfo } from '../token-verifier.ts'
import type { SignatureBudget } from '../untrusted.ts'

/**
 * Parses RFC 3161 timestamp responses, and finds the certificate that signed. The input is attacker-controlled: its
 * size, depth and number of values are limited.
 *
 * Some parts are not signed (versions, unsigned attributes, extra certificates) and can change while the token stays
 * valid. A reference to a token must therefore use the hash of its exact bytes.
 */

/** Certificates that are read from one token. */
export const MAX_CERTIFICATES = 32

const OID_SIGNED_DATA = '1.2.840.113549.1.7.2'
/** The content type of a token: id-ct-TSTInfo. */
const OID_TST_INFO = '1.2.840.113549.1.9.16.1.4'

/** PKIStatus and PKIFailureInfo (RFC 3161 § 2.4.2). */
const STATUSES = ['granted', 'grantedWithMods', 'rejection', 'waiting', 'revocationWarning', 'revocationNotification']
const FAILURES: ReadonlyMap<number, string> = new Map([
  [0, 'badAlg'],
  [2, 'badRequest'],
  [5, 'badDataFormat'],
  [14, 'timeNotAvailable'],
  [15, 'unacceptedPolicy'],
  [16, 'unacceptedExtension'],
  [17, 'addInfoNotAvailable'],
  [25, 'systemFailure'],
])

/** A parsed token. Nothing is verified yet. */
export interface ParsedToken {
  readonly info: TimestampInfo
  /** DER of the TSTInfo: the signed content. */
  readonly content: Uint8Array
  readonly signer: SignerInfo
  readonly certificates: readonly Certificate[]
}

/** An error with the code `VERIFICATION_FAILED`, about a token. */
export const timestampError = (rule: VerificationRule, reason: string): RegistryError =>
  verificationError(rule, `The timestamp does not verify: ${reason}`)

/** Parses a response. Throws `VERIFICATION_FAILED` or any error of the parsers: call it inside `withParserErrors`. */
export function parseToken(der: Uint8Array, budget: SignatureBudget): ParsedToken {
  if (der.length > MAX_TIMESTAMP_BYTES)
    throw timestampError('form.length', `it has ${der.length} bytes, the limit is ${MAX_TIMESTAMP_BYTES}`)
  const schema = parseAsn1(der, 'The timestamp does not verify: the response', budget)
  // pkijs ignores values that it does not expect.
  if (childrenOf(schema).length > 2)
    throw timestampError('timestamp.malformed', 'the token is followed by other values')
  const response = new TimeStampResp({ schema })
  checkStatus(response)
  const token = response.timeStampToken
  if (!(token instanceof ContentInfo)) throw timestampError('timestamp.malformed', 'the response holds no token')
  if (token.contentType !== OID_SIGNED_DATA)
    throw timestampError('timestamp.malformed', 'the token is not CMS SignedData')
  // Not by `SignedData` of pkijs, which parses every certificate again: that takes half of the time of a token.
  const [, , encapsulated, ...others] = childrenOf(token.content)
  const { eContentType, eContent } = new EncapsulatedContentInfo({ schema: encapsulated })
  if (eContentType !== OID_TST_INFO) throw timestampError('timestamp.malformed', 'the signed content is not a TSTInfo')
  const signers = childrenOf(others.find((each) => each instanceof AsnSet))
  const [signer] = signers
  if (!signer || signers.length > 1)
    throw timestampError('timestamp.malformed', `it has ${signers.length} signers, expected exactly one`)
  if (!eContent) throw timestampError('timestamp.malformed', 'it holds no TSTInfo')
  const content = new Uint8Array(eContent.getValue())
  return {
    info: parseTstInfo(content, budget),
    content,
    signer: new SignerInfo({ schema: signer }),
    // pkijs types the content as `any`.
    certificates: embeddedCertificates(token.content, budget),
  }
}

function checkStatus(response: TimeStampResp): void {
  const { failInfo, statusStrings } = response.status
  const status: number = response.status.status
  if (status === 0 || status === 1) return
  const bits = failInfo?.valueBlock.valueHexView
  const failures = [...FAILURES].filter(([bit]) => ((bits?.[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0)
  const text = (statusStrings ?? []).map(({ valueBlock }) => valueBlock.value).join(' ')
  // The authority chose the text: quoted without control characters, and shortened.
  const quoted = text && ` "${text.replace(/\p{C}+/gu, ' ').slice(0, 200)}"`
  const reason = [STATUSES[status], ...failures.map(([, name]) => name)].join(', ')
  throw timestampError('timestamp.not-granted', `the authority returned ${reason}${quoted}`)
}

function parseTstInfo(content: Uint8Array, budget: SignatureBudget): TimestampInfo {
  const schema = parseAsn1(content, 'The timestamp does not verify: the TSTInfo', budget)
  const tst = new TSTInfo({ schema })
  const version = smallInteger(childrenOf(schema)[0])
  if (version !== 1) throw timestampError('timestamp.unsupported', `TSTInfo version ${version} is not supported`)
  for (const extension of tst.extensions ?? [])
    if (extension.critical)
      throw timestampError('timestamp.unsupported', `the critical extension ${extension.extnID} is not supported`)
  const algorithm = tst.messageImprint.hashAlgorithm.algorithmId
  const hash = HASHES.get(algorithm)
  if (!hash) throw timestampError('timestamp.unsupported', `the imprint's hash algorithm ${algorithm} is not accepted`)
  const imprint = tst.messageImprint.hashedMessage.valueBlock.valueHexView.slice()
  if (imprint.length !== hash.length)
    throw timestampError('timestamp.malformed', `an imprint of ${imprint.length} bytes is not a ${hash.name}`)
  const [time, accuracy] = childrenOf(schema).slice(4)
  const genTime = genTimeOf(time)
  const accuracyMicros = accuracy instanceof Sequence ? microsOfAccuracy(accuracy) : undefined
  const notLaterThan = genTime + Math.ceil((microsOf(time) + (accuracyMicros ?? 0)) / 1000)
  if (notLaterThan > MAX_TIME) throw timestampError('timestamp.malformed', 'its accuracy leads beyond the year 9999')
  return {
    genTime,
    serialNumber: signedHex(integerBytes(tst.serialNumber)),
    policy: tst.policy,
    hashAlgorithm: hash.name,
    imprint,
    ...(tst.nonce && { nonce: integerBytes(tst.nonce) }),
    ...(accuracyMicros !== undefined && { accuracyMs: accuracyMicros / 1000 }),
    notLaterThan,
  }
}

/** ms since 1970: the end of the year 9999. */
const MAX_TIME = 253_402_300_799_999

/** Returns ms since 1970. */
function genTimeOf(value: BaseBlock | undefined): number {
  const time = value instanceof GeneralizedTime ? timeOf(value) : NaN
  if (Number.isNaN(time))
    throw timestampError('timestamp.malformed', 'genTime is not an existing UTC GeneralizedTime with seconds')
  return time
}

/** Accuracy ::= SEQUENCE { seconds INTEGER OPTIONAL, millis [0] INTEGER OPTIONAL, micros [1] INTEGER OPTIONAL }. */
function microsOfAccuracy(accuracy: Sequence): number {
  const [first] = childrenOf(accuracy)
  const seconds = first?.idBlock.tagClass === 1 ? first : undefined
  const parts = [seconds, taggedIn(accuracy, 0), taggedIn(accuracy, 1)].map((part) => (part ? smallInteger(part) : 0))
  const [whole, millis, micros] = parts
  if (whole === undefined || millis === undefined || micros === undefined)
    throw timestampError('timestamp.malformed', 'its accuracy is negative or too large')
  return whole * 1e6 + millis * 1000 + micros
}

/** The bytes of an INTEGER, without those at the start that only repeat its sign. */
function integerBytes(integer: Integer): Uint8Array {
  const bytes = integer.valueBlock.valueHexView
  if (bytes.length === 0) throw timestampError('timestamp.malformed', 'an integer has no bytes')
  const sign = (bytes[0] ?? 0) < 0x80 ? 0 : 0xff
  const isNeeded = (byte: number, i: number): boolean => byte !== sign || ((bytes[i + 1] ?? ~sign) ^ sign) >= 0x80
  return bytes.slice(Math.max(0, bytes.findIndex(isNeeded)))
}

/** Hex of the magnitude without leading zero bytes, of a negative integer after `-`. */
function signedHex(bytes: Uint8Array): string {
  const value = BigInt.asIntN(bytes.length * 8, BigInt(`0x${toHex(bytes)}`))
  const digits = (value < 0n ? -value : value).toString(16)
  return `${value < 0n ? '-' : ''}${digits.length % 2 === 0 ? '' : '0'}${digits}`
}

/** The bytes of a positive integer as in DER. */
export function positiveInteger(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0)
  const magnitude = bytes.slice(first)
  return (magnitude[0] ?? 0) < 0x80 ? magnitude : Uint8Array.of(0, ...magnitude)
}

/**
 * The certificates of a SignedData. Read from its structure, because pkijs encodes certificates again, and the exact
 * bytes are hashed. Attribute certificates are ignored.
 */
function embeddedCertificates(signedData: BaseBlock, budget: SignatureBudget): readonly Certificate[] {
  const certificates = childrenOf(taggedIn(signedData, 0)).filter((choice) => choice instanceof Sequence)
  if (certificates.length > MAX_CERTIFICATES)
    throw timestampError('form.length', `it carries ${certificates.length} certificates`)
  return readableCertificates(
    certificates.map(({ valueBeforeDecodeView }) => valueBeforeDecodeView),
    budget,
  )
}

// -- the signed attributes (RFC 5652 § 11, RFC 5035), and the certificate that they name

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
    if (attributes.has(type)) throw timestampError('timestamp.malformed', `the signed attribute ${type} occurs twice`)
    if (!value || others.length > 0)
      throw timestampError('timestamp.malformed', `the signed attribute ${type} has not exactly one value`)
    attributes.set(type, value)
  }
  return attributes
}

/** The signed attributes name the content's type and digest (RFC 5652 § 11.1 and § 11.2). */
export function checkContentAttributes(attributes: Attributes, token: ParsedToken): void {
  const type = attributes.get(OID_CONTENT_TYPE)
  if (!(type instanceof ObjectIdentifier) || type.valueBlock.toString() !== OID_TST_INFO)
    throw timestampError('timestamp.content-differs', 'the content-type attribute does not name a TSTInfo')
  const digest = attributes.get(OID_MESSAGE_DIGEST)
  const hash = HASHES.get(token.signer.digestAlgorithm.algorithmId)
  if (!hash)
    throw timestampError(
      'timestamp.unsupported',
      `digests of ${token.signer.digestAlgorithm.algorithmId} are not accepted`,
    )
  const expected = digestOf(hash.name, token.content)
  if (!(digest instanceof OctetString) || !equalBytes(digest.valueBlock.valueHexView, expected))
    throw timestampError('timestamp.content-differs', 'the message-digest attribute is not the digest of the content')
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
  budget: SignatureBudget,
): Certificate {
  const ids = certificateIds(attributes)
  if (ids.length === 0) throw timestampError('timestamp.signer-differs', "no ESSCertID names the signer's certificate")
  // Once, because an attacker's tokens can be compared with the same certificates.
  const digest = (algorithm: CertificateId['algorithm'], { der, fingerprint }: Certificate): Uint8Array =>
    budget.once(`digest ${algorithm} ${fingerprint}`, () => digestOf(algorithm, der))
  const hashed = certificates.filter((certificate) =>
    ids.every(({ algorithm, hash }) => equalBytes(digest(algorithm, certificate), hash)),
  )
  if (hashed.length === 0)
    throw timestampError('timestamp.signer-differs', "no certificate is that of the ESSCertID of the signer's")
  const match = hashed.find((certificate) => isNamedBy(signer, certificate, budget))
  if (!match) throw timestampError('timestamp.signer-differs', "the ESSCertID is not that of the signer's certificate")
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
  if (!hash) throw timestampError('timestamp.unsupported', 'the hash algorithm of the ESSCertID is not accepted')
  return hash.name
}

function octets(block: BaseBlock | undefined): Uint8Array {
  if (!(block instanceof OctetString)) throw timestampError('timestamp.malformed', 'the ESSCertID is malformed')
  return block.valueBlock.valueHexView
}

/** A signer is named by issuer and serial number, or by subject key identifier (RFC 5652 § 5.3). */
function isNamedBy(signer: SignerInfo, certificate: Certificate, budget: SignatureBudget): boolean {
  const sid: unknown = signer.sid
  if (sid instanceof IssuerAndSerialNumber) {
    const { issuer, serialNumber } = certificate.pki
    return isEqualInteger(serialNumber, sid.serialNumber) && isEqualName(issuer, sid.issuer, budget)
  }
  const identifier = subjectKeyIdentifier(certificate)
  // [0] IMPLICIT OCTET STRING.
  return identifier !== undefined && sid instanceof Primitive && equalBytes(sid.valueBlock.valueHexView, identifier)
}

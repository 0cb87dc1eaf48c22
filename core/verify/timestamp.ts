import { createHash, verify as verifySignature } from 'node:crypto'
import {
  Constructed,
  fromBER,
  GeneralizedTime,
  ObjectIdentifier,
  OctetString,
  Primitive,
  Sequence,
  Set as AsnSet,
} from 'asn1js'
import type { BaseBlock, Integer } from 'asn1js'
import { ContentInfo, IssuerAndSerialNumber, SignedData, TimeStampResp, TSTInfo } from 'pkijs'
import type { SignerInfo } from 'pkijs'
import { equalBytes, toHex } from '../bytes.ts'
import { isRegistryError, RegistryError } from '../errors.ts'
import {
  certificateFromSchema,
  keyWeakness,
  parseCertificate,
  pathToAnchor,
  SIGNATURE_HASHES,
  subjectKeyIdentifier,
  whyNotTimestamping,
} from './certificate.ts'
import type { Certificate, HashName } from './certificate.ts'

/**
 * RFC 3161 timestamp responses, read and verified offline. The input is attacker-controlled: its size, depth, number of nodes and
 * number of signature checks are bounded, and whatever goes wrong in it is `VERIFICATION_FAILED`.
 *
 * Bits outside the signature (versions, unsigned attributes, spare certificates) can change without harm to the claim:
 * whoever refers to a token refers to the hash of its exact bytes.
 */

/** The largest response that is looked at. Real ones are 1 to 10 KB; some carry revocation lists. */
export const MAX_TIMESTAMP_BYTES = 262_144

/** A genTime may be so far beyond the verifier's own clock. */
export const MAX_CLOCK_SKEW_MS = 300_000

const MAX_CERTIFICATES = 32

const OID_SIGNED_DATA = '1.2.840.113549.1.7.2'
const OID_TST_INFO = '1.2.840.113549.1.9.16.1.4'
const OID_CONTENT_TYPE = '1.2.840.113549.1.9.3'
const OID_MESSAGE_DIGEST = '1.2.840.113549.1.9.4'
const OID_SIGNING_CERTIFICATE = '1.2.840.113549.1.9.16.2.12'
const OID_SIGNING_CERTIFICATE_V2 = '1.2.840.113549.1.9.16.2.47'
const OID_RSA = '1.2.840.113549.1.1.1'

const HASHES: ReadonlyMap<string, { readonly name: HashName; readonly length: number }> = new Map([
  ['2.16.840.1.101.3.4.2.1', { name: 'sha256', length: 32 }],
  ['2.16.840.1.101.3.4.2.2', { name: 'sha384', length: 48 }],
  ['2.16.840.1.101.3.4.2.3', { name: 'sha512', length: 64 }],
])

/** RFC 3161 § 2.4.2. */
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

/** What a token claims. */
export interface TimestampInfo {
  /** ms since 1970, cut to whole milliseconds. */
  readonly genTime: number
  /** Hex of the positive integer's bytes, without a leading zero byte. */
  readonly serialNumber: string
  /** Dotted OID. */
  readonly policy: string
  readonly hashAlgorithm: HashName
  /** The hash that was stamped. */
  readonly imprint: Uint8Array
  /** The positive integer's bytes, big-endian, without a leading zero byte. */
  readonly nonce?: Uint8Array
  /** The true time lies within genTime ± so much, ms. */
  readonly accuracyMs?: number
}

export type VerifyTimeStampOptions = {
  /** DER certificates that are trusted to issue (or to be) the signer's certificate. At least one. */
  readonly trustAnchors: readonly Uint8Array[]
  /** What the request held, a positive integer big-endian: the token must hold the same. */
  readonly nonce?: Uint8Array
  /** Dotted OID that the token must have. */
  readonly policy?: string
  /** The verifier's present, ms since 1970: a genTime more than `MAX_CLOCK_SKEW_MS` beyond it is refused. Default: no such check. */
  readonly at?: number
} & (
  | { readonly data: Uint8Array }
  /** The data's digest by the token's own hash algorithm. */
  | { readonly digest: Uint8Array }
)

interface ParsedToken {
  readonly info: TimestampInfo
  /** DER of the TSTInfo: what is signed. */
  readonly content: Uint8Array
  readonly signer: SignerInfo
  readonly certificates: readonly Certificate[]
}

const refuse = (reason: string, cause?: unknown): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', `The timestamp does not verify: ${reason}`, { cause })

/** The parsers throw all sorts of errors over malformed input; to the caller they are one. */
function guarded<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw isRegistryError(error) ? error : refuse('it is malformed', error)
  }
}

/**
 * Reads a whole DER TimeStampResp (RFC 3161 § 2.4.2) that was granted. Believes it: nothing is checked but its form.
 * Throws `VERIFICATION_FAILED`.
 */
export const parseTimeStampResponse = (der: Uint8Array): TimestampInfo => guarded(() => parseToken(der).info)

/**
 * Verifies a whole DER TimeStampResp over `data` (or its digest): status, form, imprint, nonce, policy, exactly one signer, the signed
 * attributes (RFC 5652 § 11, RFC 5035), the signature, the signer's purpose (RFC 3161 § 2.3) and its path to a trust anchor,
 * all certificates valid at genTime. RSA (2048 to 8192 bits) or ECDSA (P-256, P-384, P-521) with SHA-256, -384 or -512. Revocation is
 * not looked at. Throws `VERIFICATION_FAILED` with the reason.
 */
export function verifyTimeStamp(der: Uint8Array, options: VerifyTimeStampOptions): TimestampInfo {
  const anchors = options.trustAnchors.map((anchor) => parseCertificate(anchor))
  return guarded(() => {
    const token = parseToken(der)
    checkClaim(token.info, options)
    const attributes = signedAttributes(token.signer)
    checkContentAttributes(attributes, token)
    const certificate = signingCertificate(attributes, token, anchors)
    checkSignature(token.signer, certificate)
    const purpose = whyNotTimestamping(certificate)
    if (purpose) throw refuse(`the signer's certificate is not for timestamps: ${purpose}`)
    pathToAnchor(certificate, token.certificates, anchors, token.info.genTime)
    return token.info
  })
}

// -- form

function parseToken(der: Uint8Array): ParsedToken {
  if (der.length > MAX_TIMESTAMP_BYTES)
    throw refuse(`it has ${der.length} bytes, at most ${MAX_TIMESTAMP_BYTES} are read`)
  const response = new TimeStampResp({ schema: decode(der) })
  checkStatus(response)
  const token = response.timeStampToken
  if (!(token instanceof ContentInfo)) throw refuse('the response holds no token')
  if (token.contentType !== OID_SIGNED_DATA) throw refuse('the token is not CMS SignedData')
  const signed = new SignedData({ schema: token.content })
  if (signed.encapContentInfo.eContentType !== OID_TST_INFO) throw refuse('the signed content is not a TSTInfo')
  const [signer, ...others] = signed.signerInfos
  if (!signer || others.length > 0) throw refuse(`it has ${signed.signerInfos.length} signers, exactly one is taken`)
  if (!signed.encapContentInfo.eContent) throw refuse('it holds no TSTInfo')
  const content = new Uint8Array(signed.encapContentInfo.eContent.getValue())
  return {
    info: parseTstInfo(content),
    content,
    signer,
    certificates: embeddedCertificates(token.content as BaseBlock),
  }
}

/** One BER value and nothing after it. A copy is read: asn1js keeps views of its input. */
function decode(bytes: Uint8Array): BaseBlock {
  const { offset, result } = fromBER(bytes.slice())
  if (offset === -1) throw refuse(`it is not ASN.1: ${result.error}`)
  if (offset !== bytes.length) throw refuse(`${bytes.length - offset} bytes trail it`)
  return result
}

function checkStatus(response: TimeStampResp): void {
  const { status, failInfo, statusStrings } = response.status
  if (status === 0 || status === 1) return
  const bits = failInfo?.valueBlock.valueHexView ?? new Uint8Array()
  const failures = [...FAILURES].filter(([bit]) => ((bits[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0)
  const said = (statusStrings ?? []).map(({ valueBlock }) => valueBlock.value).join(' ')
  // The text is the authority's: quoted without control characters, and short.
  const quoted = said && ` "${said.replace(/\p{C}+/gu, ' ').slice(0, 200)}"`
  throw refuse(`the authority answered ${[STATUSES[status], ...failures.map(([, name]) => name)].join(', ')}${quoted}`)
}

function parseTstInfo(content: Uint8Array): TimestampInfo {
  const schema = decode(content)
  const tst = new TSTInfo({ schema })
  if (tst.version !== 1) throw refuse(`TSTInfo version ${tst.version} is not known`)
  for (const extension of tst.extensions ?? [])
    if (extension.critical) throw refuse(`the critical extension ${extension.extnID} is not understood`)
  const algorithm = tst.messageImprint.hashAlgorithm.algorithmId
  const hash = HASHES.get(algorithm)
  if (!hash) throw refuse(`the imprint's hash algorithm ${algorithm} is not accepted`)
  const imprint = tst.messageImprint.hashedMessage.valueBlock.valueHexView.slice()
  if (imprint.length !== hash.length) throw refuse(`an imprint of ${imprint.length} bytes is not a ${hash.name}`)
  return {
    genTime: generalizedTime(children(schema)[4]),
    serialNumber: toHex(positive(tst.serialNumber, 'the serial number')),
    policy: tst.policy,
    hashAlgorithm: hash.name,
    imprint,
    ...(tst.nonce && { nonce: positive(tst.nonce, 'the nonce') }),
    ...(tst.accuracy && { accuracyMs: accuracyMs(tst.accuracy) }),
  }
}

/** Read from the text itself: asn1js takes local times and days that do not exist. */
function generalizedTime(value: BaseBlock | undefined): number {
  const text = value instanceof GeneralizedTime ? Buffer.from(value.valueBlock.valueHexView).toString('latin1') : ''
  const match = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(?:\.(\d+))?Z$/.exec(text)
  if (!match) throw refuse('genTime is not a UTC GeneralizedTime with seconds')
  const [, year, month, day, hour, minute, second, fraction = ''] = match
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}Z`
  const time = Date.parse(iso)
  if (Number.isNaN(time) || new Date(time).toISOString() !== iso) throw refuse('genTime is no date that exists')
  return time
}

function accuracyMs(accuracy: NonNullable<TSTInfo['accuracy']>): number {
  return (accuracy.seconds ?? 0) * 1000 + (accuracy.millis ?? 0) + (accuracy.micros ?? 0) / 1000
}

function positive(integer: Integer, what: string): Uint8Array {
  const bytes = integer.valueBlock.valueHexView
  if (bytes.length === 0 || ((bytes[0] ?? 0) & 0x80) !== 0) throw refuse(`${what} is not a positive integer`)
  return withoutLeadingZeros(bytes)
}

function withoutLeadingZeros(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0)
  return bytes.slice(first === -1 ? bytes.length - 1 : first)
}

function children(block: BaseBlock | undefined): readonly BaseBlock[] {
  return block instanceof Sequence || block instanceof AsnSet || block instanceof Constructed
    ? block.valueBlock.value
    : []
}

/** From the structure itself, because pkijs writes a certificate anew and the exact bytes are hashed. Attribute certificates are passed over. */
function embeddedCertificates(signedData: BaseBlock): readonly Certificate[] {
  const tagged = children(signedData).find(({ idBlock }) => idBlock.tagClass === 3 && idBlock.tagNumber === 0)
  const found = children(tagged).filter((choice) => choice instanceof Sequence)
  if (found.length > MAX_CERTIFICATES)
    throw refuse(`it carries ${found.length} certificates, at most ${MAX_CERTIFICATES} are read`)
  return found.map(certificateFromSchema)
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

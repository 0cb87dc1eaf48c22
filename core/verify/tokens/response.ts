import { GeneralizedTime, Sequence, type BaseBlock, type Integer } from 'asn1js'
import { ContentInfo, SignedData, TimeStampResp, TSTInfo, type SignerInfo } from 'pkijs'
import { toHex } from '../../bytes.ts'
import { verificationError, type RegistryError } from '../../errors.ts'
import { childrenOf, parseAsn1, timeOf, HASHES } from './asn1.ts'
import { certificateFromSchema, type Certificate } from './certificate.ts'
import { MAX_TIMESTAMP_BYTES, type TimestampInfo } from '../token-verifier.ts'

/**
 * Parses RFC 3161 timestamp responses. The input is attacker-controlled: its size, depth and number of values are
 * limited.
 *
 * Some parts are not signed (versions, unsigned attributes, extra certificates) and can change while the token stays
 * valid. A reference to a token must therefore use the hash of its exact bytes.
 */

/** Certificates that are read from one token. */
export const MAX_CERTIFICATES = 32

const OID_SIGNED_DATA = '1.2.840.113549.1.7.2'
/** The content type of a token: id-ct-TSTInfo. */
export const OID_TST_INFO = '1.2.840.113549.1.9.16.1.4'

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
export const timestampError = (reason: string, cause?: unknown): RegistryError =>
  verificationError(`The timestamp does not verify: ${reason}`, cause)

/** Parses a response. Throws `VERIFICATION_FAILED` or any error of the parsers: call it inside `withParserErrors`. */
export function parseToken(der: Uint8Array): ParsedToken {
  if (der.length > MAX_TIMESTAMP_BYTES)
    throw timestampError(`it has ${der.length} bytes, the limit is ${MAX_TIMESTAMP_BYTES}`)
  const schema = parseAsn1(der, 'The timestamp does not verify: the response')
  // pkijs ignores values that it does not expect.
  if (childrenOf(schema).length > 2) throw timestampError('the token is followed by other values')
  const response = new TimeStampResp({ schema })
  checkStatus(response)
  const token = response.timeStampToken
  if (!(token instanceof ContentInfo)) throw timestampError('the response holds no token')
  if (token.contentType !== OID_SIGNED_DATA) throw timestampError('the token is not CMS SignedData')
  const signed = new SignedData({ schema: token.content })
  if (signed.encapContentInfo.eContentType !== OID_TST_INFO) throw timestampError('the signed content is not a TSTInfo')
  const [signer, ...others] = signed.signerInfos
  if (!signer || others.length > 0)
    throw timestampError(`it has ${signed.signerInfos.length} signers, expected exactly one`)
  if (!signed.encapContentInfo.eContent) throw timestampError('it holds no TSTInfo')
  const content = new Uint8Array(signed.encapContentInfo.eContent.getValue())
  return {
    info: parseTstInfo(content),
    content,
    signer,
    // pkijs types the content as `any`.
    certificates: embeddedCertificates(token.content),
  }
}

function checkStatus(response: TimeStampResp): void {
  const { failInfo, statusStrings } = response.status
  const status: number = response.status.status
  if (status === 0 || status === 1) return
  const bits = failInfo?.valueBlock.valueHexView ?? new Uint8Array()
  const failures = [...FAILURES].filter(([bit]) => ((bits[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0)
  const text = (statusStrings ?? []).map(({ valueBlock }) => valueBlock.value).join(' ')
  // The authority chose the text: quoted without control characters, and shortened.
  const quoted = text && ` "${text.replace(/\p{C}+/gu, ' ').slice(0, 200)}"`
  const reason = [STATUSES[status], ...failures.map(([, name]) => name)].join(', ')
  throw timestampError(`the authority returned ${reason}${quoted}`)
}

function parseTstInfo(content: Uint8Array): TimestampInfo {
  const schema = parseAsn1(content, 'The timestamp does not verify: the TSTInfo')
  const tst = new TSTInfo({ schema })
  if (tst.version !== 1) throw timestampError(`TSTInfo version ${tst.version} is not supported`)
  for (const extension of tst.extensions ?? [])
    if (extension.critical) throw timestampError(`the critical extension ${extension.extnID} is not supported`)
  const algorithm = tst.messageImprint.hashAlgorithm.algorithmId
  const hash = HASHES.get(algorithm)
  if (!hash) throw timestampError(`the imprint's hash algorithm ${algorithm} is not accepted`)
  const imprint = tst.messageImprint.hashedMessage.valueBlock.valueHexView.slice()
  if (imprint.length !== hash.length)
    throw timestampError(`an imprint of ${imprint.length} bytes is not a ${hash.name}`)
  return {
    genTime: genTimeOf(childrenOf(schema)[4]),
    serialNumber: toHex(positiveInteger(tst.serialNumber, 'the serial number')),
    policy: tst.policy,
    hashAlgorithm: hash.name,
    imprint,
    ...(tst.nonce && { nonce: positiveInteger(tst.nonce, 'the nonce') }),
    ...(tst.accuracy && { accuracyMs: accuracyMs(tst.accuracy) }),
  }
}

/** Returns ms since 1970. */
function genTimeOf(value: BaseBlock | undefined): number {
  const time = value instanceof GeneralizedTime ? timeOf(value) : NaN
  if (Number.isNaN(time)) throw timestampError('genTime is not an existing UTC GeneralizedTime with seconds')
  return time
}

function accuracyMs(accuracy: NonNullable<TSTInfo['accuracy']>): number {
  return (accuracy.seconds ?? 0) * 1000 + (accuracy.millis ?? 0) + (accuracy.micros ?? 0) / 1000
}

/** The bytes of a positive INTEGER, without leading zero bytes. */
function positiveInteger(integer: Integer, what: string): Uint8Array {
  const bytes = integer.valueBlock.valueHexView
  if (bytes.length === 0 || ((bytes[0] ?? 0) & 0x80) !== 0) throw timestampError(`${what} is not a positive integer`)
  return withoutLeadingZeros(bytes)
}

/** The magnitude of an integer without leading zero bytes. One byte remains. */
export function withoutLeadingZeros(bytes: Uint8Array): Uint8Array {
  // If all bytes are zero, slice(-1) keeps the last one.
  return bytes.slice(bytes.findIndex((byte) => byte !== 0))
}

/**
 * The certificates of a SignedData. Read from its structure, because pkijs encodes certificates again, and the exact
 * bytes are hashed. Attribute certificates are ignored.
 */
function embeddedCertificates(signedData: BaseBlock): readonly Certificate[] {
  const tagged = childrenOf(signedData).find(({ idBlock }) => idBlock.tagClass === 3 && idBlock.tagNumber === 0)
  const certificates = childrenOf(tagged).filter((choice) => choice instanceof Sequence)
  if (certificates.length > MAX_CERTIFICATES)
    throw timestampError(`it carries ${certificates.length} certificates, the limit is ${MAX_CERTIFICATES}`)
  return certificates.map(certificateFromSchema)
}

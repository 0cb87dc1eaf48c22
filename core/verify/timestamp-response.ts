import { Constructed, fromBER, GeneralizedTime, Sequence, Set as AsnSet } from 'asn1js'
import type { BaseBlock, Integer } from 'asn1js'
import { ContentInfo, SignedData, TimeStampResp, TSTInfo } from 'pkijs'
import type { SignerInfo } from 'pkijs'
import { toHex } from '../bytes.ts'
import { isRegistryError, RegistryError } from '../errors.ts'
import { certificateFromSchema, type Certificate } from './certificate.ts'
import { MAX_TIMESTAMP_BYTES, type HashName, type TimestampInfo } from './timestamp-info.ts'

/**
 * The form of RFC 3161 timestamp responses. The input is attacker-controlled: its size, depth and number of nodes are bounded, and
 * whatever goes wrong in it is `VERIFICATION_FAILED`.
 *
 * Bits outside the signature (versions, unsigned attributes, spare certificates) can change without harm to the claim:
 * whoever refers to a token refers to the hash of its exact bytes.
 */

export const MAX_CERTIFICATES = 32

const OID_SIGNED_DATA = '1.2.840.113549.1.7.2'
export const OID_TST_INFO = '1.2.840.113549.1.9.16.1.4'

/** Hash algorithms that are accepted, by their OID. */
export const HASHES: ReadonlyMap<string, { readonly name: HashName; readonly length: number }> = new Map([
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

/** A token taken apart, nothing verified. */
export interface ParsedToken {
  readonly info: TimestampInfo
  /** DER of the TSTInfo: what is signed. */
  readonly content: Uint8Array
  readonly signer: SignerInfo
  readonly certificates: readonly Certificate[]
}

export const refuse = (reason: string, cause?: unknown): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', `The timestamp does not verify: ${reason}`, { cause })

/** The parsers throw all sorts of errors over malformed input; to the caller they are one. */
export function guarded<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw isRegistryError(error) ? error : refuse('it is malformed', error)
  }
}

/** The response, taken apart. Throws `VERIFICATION_FAILED`, or what the parsers throw: call it `guarded`. */
export function parseToken(der: Uint8Array): ParsedToken {
  if (der.length > MAX_TIMESTAMP_BYTES)
    throw refuse(`it has ${der.length} bytes, at most ${MAX_TIMESTAMP_BYTES} are read`)
  const schema = decode(der)
  // pkijs passes over values that it does not expect.
  if (children(schema).length > 2) throw refuse('values trail the token')
  const response = new TimeStampResp({ schema })
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
  const { failInfo, statusStrings } = response.status
  const status: number = response.status.status
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

export function withoutLeadingZeros(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0)
  return bytes.slice(first === -1 ? bytes.length - 1 : first)
}

/** What stands in a constructed value; nothing in a primitive one. */
export function children(block: BaseBlock | undefined): readonly BaseBlock[] {
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

import {
  type BaseBlock,
  Constructed,
  fromBER,
  GeneralizedTime,
  Integer,
  ObjectIdentifier,
  Primitive,
  Sequence,
  Set as AsnSet,
  UTCTime,
} from 'asn1js'
import { equalBytes } from '../../bytes.ts'
import { isRegistryError, verificationError } from '../../errors.ts'
import { RSASSAPSSParams, type AlgorithmIdentifier, type Extension } from 'pkijs'
import { berValues, type DerValue } from '../der.ts'
import type { PublicKey, SignatureScheme } from '../certificate-crypto/types.ts'
import type { HashName } from '../token-verifier.ts'
import type { SignatureBudget } from '../untrusted.ts'

/**
 * Reads ASN.1 with asn1js, which limits the depth and the number of values. The input may be an attacker's: the caller
 * limits its length.
 */

/** So many values cost one unit: asn1js takes 7 to 15 µs for each. */
const VALUES_PER_UNIT = 75
/** Real tokens and certificates have some hundred. */
const MAX_VALUES = 10_000
const MAX_DEPTH = 100

/**
 * Parses exactly one BER value. Throws `VERIFICATION_FAILED`; `what` names the input in the message. `budget` counts
 * the values in it before they are parsed, so that an attempt that fails costs as much as one that succeeds.
 */
export function parseAsn1(bytes: Uint8Array, what: string, budget?: SignatureBudget): BaseBlock {
  assertValues(bytes, what, budget)
  // A copy, because asn1js keeps views of its input. It would also try to parse what is in octets and bits.
  const { offset, result } = fromBER(bytes.slice(), { parseEmbedded: false, copyInput: false })
  if (offset !== bytes.length) throw notAsn1(what)
  return result
}

/** Reads over all values, in a hundredth of the time of parsing them. */
function assertValues(bytes: Uint8Array, what: string, budget: SignatureBudget | undefined): void {
  let [count, cost] = [0, 0]
  for (const value of berValues(bytes, MAX_DEPTH)) {
    if (value === undefined || ++count > MAX_VALUES) throw notAsn1(what)
    cost += costOf(value)
    budget?.spend(Math.floor(cost / VALUES_PER_UNIT))
    cost %= VALUES_PER_UNIT
  }
}

const notAsn1 = (what: string): Error =>
  verificationError('timestamp.malformed', `${what} is not ASN.1, or has more than ${MAX_VALUES} values`)

const OID = 0x06
const RELATIVE_OID = 0x0d
const UTF8 = 0x0c
const TIME = 0x0e
const NUMERIC = 0x12
const BMP = 0x1e
/** Without the bit that says whether other values are in it: asn1js reads these as a text, too. */
const KIND = ~0x20

/** In values. A part of an OID costs a third of one, and 64 bytes of a text as much as one. */
function costOf({ tag, start, end }: DerValue): number {
  if (tag === OID || tag === RELATIVE_OID) return 1 + (end - start) / 3
  const kind = tag & KIND
  const isText = kind === UTF8 || kind === TIME || (kind >= NUMERIC && kind <= BMP)
  return isText ? 1 + Math.floor((end - start) / 64) : 1
}

/** Call it for what pkijs parses by itself, with all that is in octets and bits. A value has at least two bytes. */
export const spendOnHidden = (bytes: Uint8Array, budget: SignatureBudget | undefined): void =>
  budget?.spend(Math.floor(bytes.length / 2 / VALUES_PER_UNIT))

/** The value of an extension, as pkijs parses it. `undefined` if it is absent. Throws beyond the budget. */
export function extensionValue(
  extensions: readonly Extension[] | undefined,
  oid: string,
  budget: SignatureBudget,
): unknown {
  const extension = extensions?.find(({ extnID }) => extnID === oid)
  if (extension !== undefined) spendOnHidden(extension.extnValue.valueBlock.valueHexView, budget)
  return extension?.parsedValue
}

/** The values inside a constructed value. Empty for a primitive value and for `undefined`. */
export function childrenOf(block: BaseBlock | undefined): readonly BaseBlock[] {
  return block instanceof Sequence || block instanceof AsnSet || block instanceof Constructed
    ? block.valueBlock.value
    : []
}

/**
 * Returns the result of `parse`. The parsers throw errors of many kinds for malformed input: each becomes
 * `VERIFICATION_FAILED`.
 */
export function withParserErrors<T>(what: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw isRegistryError(error) ? error : verificationError('timestamp.malformed', `${what} is malformed`, error)
  }
}

/**
 * The value of an INTEGER or ENUMERATED, also under an implicit tag, read from its bytes: asn1js gives 0 for four bytes
 * and more. `undefined` if it is absent, negative or longer than six bytes.
 */
export function smallInteger(block: BaseBlock | undefined): number | undefined {
  const isNumber = block instanceof Integer || block instanceof Primitive
  const bytes = isNumber ? block.valueBlock.valueHexView : new Uint8Array()
  if (bytes.length === 0 || bytes.length > 6 || (bytes[0] ?? 0) >= 0x80) return undefined
  return bytes.reduce((value, byte) => value * 256 + byte, 0)
}

/** Whether two integers have the same bytes. pkijs would encode both again. */
export const isEqualInteger = (one: Integer, other: Integer): boolean =>
  equalBytes(one.valueBlock.valueHexView, other.valueBlock.valueHexView)

/** The value inside `[tag]` among the values in a block. */
export const taggedIn = (block: BaseBlock | undefined, tag: number): BaseBlock | undefined =>
  childrenOf(block).find(({ idBlock }) => idBlock.tagClass === 3 && idBlock.tagNumber === tag)

// -- times. The text is parsed here, because asn1js accepts local times and dates that do not exist.

const MAX_TIME_CHARACTERS = 64
const TIME_FORM = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(?:\.(\d+))?Z$/

/**
 * ms since 1970 of a UTCTime or GeneralizedTime in UTC with seconds. A fraction is truncated to whole milliseconds. NaN
 * if it is malformed or no existing date.
 */
export function timeOf(block: unknown): number {
  const text = timeText(block)
  // GeneralizedTime is a subclass. RFC 5280 § 4.1.2.5.1: a year of two digits is in 1950 to 2049.
  const isShort = !(block instanceof GeneralizedTime)
  const match = TIME_FORM.exec(isShort ? `${text < '50' ? '20' : '19'}${text}` : text)
  if (match === null) return NaN
  const [, year, month, day, hour, minute, second, fraction = ''] = match
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}Z`
  const time = Date.parse(iso)
  return Number.isNaN(time) || new Date(time).toISOString() !== iso ? NaN : time
}

/** What a time has beyond the milliseconds of `timeOf`, in µs, rounded up. */
export function microsOf(block: BaseBlock | undefined): number {
  const [, micros = '', finer = ''] = /\.\d{3}(\d{1,3})(\d*)Z$/.exec(timeText(block)) ?? []
  return Number(micros.padEnd(3, '0')) + (/[1-9]/.test(finer) ? 1 : 0)
}

const timeText = (block: unknown): string =>
  block instanceof UTCTime && block.valueBlock.valueHexView.length <= MAX_TIME_CHARACTERS
    ? String.fromCharCode(...block.valueBlock.valueHexView)
    : ''

/**
 * The signature algorithms that tokens, certificates, CRLs and OCSP responses may use: RSA PKCS #1 v1.5 (RFC 4055 § 5),
 * RSA-PSS (RFC 4055 § 3) and ECDSA (RFC 5758 § 3.2), each with SHA-256, SHA-384 or SHA-512.
 */

export const OID_RSA = '1.2.840.113549.1.1.1'
const OID_RSA_PSS = '1.2.840.113549.1.1.10'
const OID_MGF1 = '1.2.840.113549.1.1.8'

const rsa = (hash: HashName): SignatureScheme => ({ keyTypes: ['rsa'], hash })
const ecdsa = (hash: HashName): SignatureScheme => ({ keyTypes: ['ec'], hash })

const SCHEMES: ReadonlyMap<string, SignatureScheme> = new Map([
  ['1.2.840.113549.1.1.11', rsa('sha256')],
  ['1.2.840.113549.1.1.12', rsa('sha384')],
  ['1.2.840.113549.1.1.13', rsa('sha512')],
  ['1.2.840.10045.4.3.2', ecdsa('sha256')],
  ['1.2.840.10045.4.3.3', ecdsa('sha384')],
  ['1.2.840.10045.4.3.4', ecdsa('sha512')],
])

/** The accepted hash algorithms, by OID. */
export const HASHES: ReadonlyMap<string, { readonly name: HashName; readonly length: number }> = new Map([
  ['2.16.840.1.101.3.4.2.1', { name: 'sha256', length: 32 }],
  ['2.16.840.1.101.3.4.2.2', { name: 'sha384', length: 48 }],
  ['2.16.840.1.101.3.4.2.3', { name: 'sha512', length: 64 }],
])

/**
 * The scheme of an algorithm identifier, `undefined` if it is not accepted.
 *
 * @param digest The signer's digest algorithm, only in CMS. There, rsaEncryption means PKCS #1 v1.5 with it (RFC 3370 §
 *   3.2).
 */
export function schemeOf(algorithm: AlgorithmIdentifier, digest?: HashName): SignatureScheme | undefined {
  const { algorithmId } = algorithm
  if (algorithmId === OID_RSA) return digest && rsa(digest)
  return algorithmId === OID_RSA_PSS ? pssScheme(algorithm) : SCHEMES.get(algorithmId)
}

/** As `schemeOf`. Read once, because an attacker's parameters can be long, and be needed for many issuers. */
export const schemeOnce = (algorithm: AlgorithmIdentifier, budget: SignatureBudget): SignatureScheme | undefined =>
  budget.once(algorithm, () => schemeOf(algorithm))

/** Both hashes must be the same. Without parameters they would be SHA-1. Throws if the parameters are malformed. */
function pssScheme({ algorithmParams }: AlgorithmIdentifier): SignatureScheme | undefined {
  // pkijs types the parameters as `any`.
  const schema: unknown = algorithmParams
  if (schema === undefined) return undefined
  const { hashAlgorithm, maskGenAlgorithm, trailerField } = new RSASSAPSSParams({ schema })
  const saltLength = schema instanceof Sequence ? saltLengthIn(schema) : -1
  const hash = HASHES.get(hashAlgorithm.algorithmId)
  // MGF1's parameter is the AlgorithmIdentifier of its hash. pkijs types it as `any`.
  const [maskHash] = childrenOf(maskGenAlgorithm.algorithmParams)
  const mask = maskHash instanceof ObjectIdentifier ? maskHash.valueBlock.toString() : undefined
  const isSupported =
    maskGenAlgorithm.algorithmId === OID_MGF1 && mask === hashAlgorithm.algorithmId && trailerField === 1
  return hash && isSupported && saltLength >= 0 && saltLength <= 64
    ? { keyTypes: ['rsa', 'rsa-pss'], hash: hash.name, saltLength }
    : undefined
}

/**
 * RSASSA-PSS-params ::= SEQUENCE { …, saltLength [2] INTEGER DEFAULT 20, … }. -1 for a length that is not possible.
 */
export function saltLengthIn(parameters: Sequence): number {
  const given = taggedIn(parameters, 2)
  return given === undefined ? 20 : (smallInteger(childrenOf(given)[0]) ?? -1)
}

/** Whether a key can make signatures of this scheme. */
export const isKeyFor = ({ type }: PublicKey, { keyTypes }: SignatureScheme): boolean =>
  keyTypes.some((each) => each === type)

/** Whether a signature verifies. False if the key is of another type. */
export const isSignature = (
  scheme: SignatureScheme,
  key: PublicKey,
  bytes: Uint8Array,
  signature: Uint8Array,
): boolean => isKeyFor(key, scheme) && key.verify(scheme, bytes, signature)

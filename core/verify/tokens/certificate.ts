import { parsePublicKey } from '#certificate-crypto'
import { BitString, Constructed, OctetString, Primitive, Sequence, type BaseBlock } from 'asn1js'
import { Certificate as PkiCertificate, ExtKeyUsage, type Extension } from 'pkijs'
import { equalBytes, sha256, toHex } from '../../bytes.ts'
import { verificationError, type RegistryError } from '../../errors.ts'
import { childrenOf, parseAsn1, timeOf, isSignature, schemeOnce, spendOnHidden, taggedIn } from './asn1.ts'
import { isEqualName, nameText } from './name.ts'
import type { PublicKey } from '../certificate-crypto/types.ts'
import { PARSE_COST, type SignatureBudget } from '../untrusted.ts'

/**
 * X.509 certificates (RFC 5280), offline and without revocation.
 *
 * pkijs parses the structure. Signatures are checked by the platform (`#certificate-crypto`), everything else here: so
 * a browser and Node come to the same result.
 */

const OID_SUBJECT_KEY_ID = '2.5.29.14'
const OID_KEY_USAGE = '2.5.29.15'
const OID_AUTHORITY_KEY_ID = '2.5.29.35'
const OID_EXTENDED_KEY_USAGE = '2.5.29.37'
export const OID_TIME_STAMPING = '1.3.6.1.5.5.7.3.8'

/**
 * Supported critical extensions (RFC 5280 § 4.2.1): keyUsage, subjectAltName, basicConstraints, certificatePolicies,
 * policyMappings, policyConstraints, extKeyUsage, inhibitAnyPolicy. Those about policies decide nothing, as with
 * `openssl verify`: no initial policy is asked for. Name constraints are not supported: a path with them is rejected.
 */
const SUPPORTED_EXTENSIONS: ReadonlySet<string> = new Set(
  [15, 17, 19, 32, 33, 36, 37, 54].map((number) => `2.5.29.${number}`),
)

/** First byte of the KeyUsage bits (RFC 5280 § 4.2.1.3). */
const DIGITAL_SIGNATURE = 0x80
const NON_REPUDIATION = 0x40

/** NIST curves, and those of RFC 5639 that European authorities use. */
const CURVES: ReadonlySet<string> = new Set([
  'prime256v1',
  'secp384r1',
  'secp521r1',
  'brainpoolP256r1',
  'brainpoolP384r1',
  'brainpoolP512r1',
])
const MIN_RSA_BITS = 2048
/** An attacker may send large keys: checking a 16,384-bit RSA signature takes about a hundred times the usual time. */
const MAX_RSA_BITS = 8192
/** The same holds for large exponents. Almost all keys have 65,537. */
const MAX_RSA_EXPONENT_BITS = 64

/** An extension of a certificate. */
export interface CertificateExtension {
  readonly critical: boolean
  /** What is in its octets. */
  readonly der: Uint8Array
  /** The same, parsed. `undefined` if it cannot be parsed. */
  readonly value: unknown
}

/** A parsed certificate. */
export interface Certificate {
  /** The exact bytes. */
  readonly der: Uint8Array
  /** SHA-256 of the bytes, hex. */
  readonly fingerprint: string
  /** The subject, for people. */
  readonly subject: string
  readonly pki: PkiCertificate
  /** `undefined` if it cannot be read. */
  readonly publicKey: PublicKey | undefined
  /** SHA-256 of its SubjectPublicKeyInfo, hex. */
  readonly keyHash: string
  /** By OID. */
  readonly extensions: ReadonlyMap<string, CertificateExtension>
  /** The validity period, ms since 1970, both ends inclusive. */
  readonly notBefore: number
  readonly notAfter: number
}

const certificateError = (reason: string, cause?: unknown): RegistryError =>
  verificationError('certificate.malformed', `A certificate cannot be used: ${reason}`, cause)

/** Parses one DER certificate. Throws `VERIFICATION_FAILED`. */
export const parseCertificate = (der: Uint8Array, budget?: SignatureBudget): Certificate =>
  certificateFromSchema(parseAsn1(der, 'The certificate', budget), budget)

/** As `parseCertificate`, for certificates of an attacker: the same one is parsed and counted once. */
export const certificateOnce = (der: Uint8Array, budget: SignatureBudget): Certificate =>
  budget.once(`certificate ${budget.hashOf(der)}`, () => {
    budget.spend(PARSE_COST, der.length)
    return parseCertificate(der, budget)
  })

/**
 * Those that can be parsed. Another one beside them, which may be of a kind that is not supported, does not void what
 * they sign, also not as a trust anchor.
 */
export const readableCertificates = (ders: readonly Uint8Array[], budget: SignatureBudget): readonly Certificate[] =>
  ders.flatMap((der) => {
    try {
      return [certificateOnce(der, budget)]
    } catch (error) {
      if (budget.isExceeded) throw error
      return []
    }
  })

function certificateFromSchema(schema: BaseBlock, budget?: SignatureBudget): Certificate {
  const der = schema.valueBeforeDecodeView.slice()
  const [, , , validity, , spki] = tbsMembers(schema)
  if (spki !== undefined) spendOnHidden(spki.valueBeforeDecodeView, budget)
  const pki = pkiCertificate(schema)
  const extensions = new Map<string, CertificateExtension>()
  for (const extension of pki.extensions ?? []) {
    if (extensions.has(extension.extnID)) throw certificateError(`extension ${extension.extnID} occurs twice`)
    extensions.set(extension.extnID, extensionOf(extension))
    spendOnHidden(extension.extnValue.valueBlock.valueHexView, budget)
  }
  const [notBefore, notAfter] = childrenOf(validity).map(timeOf)
  if (spki === undefined || notBefore === undefined || notAfter === undefined)
    throw certificateError('it has no public key, or no period of validity')
  // Read when it is needed: another certificate of a token may have a key of a type that is not known.
  let publicKey: { readonly key: PublicKey | undefined } | undefined
  return {
    der,
    fingerprint: toHex(sha256(der)),
    subject: nameText(pki.subject),
    pki,
    extensions,
    keyHash: toHex(sha256(spki.valueBeforeDecodeView)),
    get publicKey() {
      return (publicKey ??= { key: readPublicKey(spki) }).key
    },
    notBefore,
    notAfter,
  }
}

function pkiCertificate(schema: BaseBlock): PkiCertificate {
  let pki: PkiCertificate
  try {
    pki = new PkiCertificate({ schema })
  } catch (cause) {
    throw certificateError('it is not X.509', cause)
  }
  // RFC 5280 § 4.1.1.2. Only the inner one is signed. pkijs would compare texts that repeat each value at each depth.
  const [inner, outer] = [tbsMembers(schema)[1], childrenOf(schema)[1]]
  if (!inner || !outer || !equalBytes(inner.valueBeforeDecodeView, outer.valueBeforeDecodeView))
    throw certificateError('it names two signature algorithms')
  return pki
}

/** Its value is parsed once, also if that fails: else an attacker's would be parsed again for each token. */
function extensionOf(extension: Extension): CertificateExtension {
  let value: { readonly parsed: unknown } | undefined
  return {
    critical: extension.critical,
    der: extension.extnValue.valueBlock.valueHexView,
    get value() {
      return (value ??= { parsed: readExtension(extension, this.der) }).parsed
    },
  }
}

/** pkijs takes 130 µs for each name in an AuthorityKeyIdentifier, and they are not used: so it is parsed without it. */
function readExtension(extension: Extension, der: Uint8Array): unknown {
  try {
    return extension.extnID === OID_AUTHORITY_KEY_ID ? parseAsn1(der, 'An extension') : extension.parsedValue
  } catch {
    return undefined
  }
}

/**
 * TBSCertificate ::= SEQUENCE { version [0] OPTIONAL, serialNumber, signature, issuer, validity, subject,
 * subjectPublicKeyInfo, … }, without the version.
 */
function tbsMembers(schema: BaseBlock): readonly BaseBlock[] {
  const [first, ...others] = childrenOf(childrenOf(schema)[0])
  return first instanceof Constructed || first === undefined ? others : [first, ...others]
}

function readPublicKey(spki: BaseBlock): PublicKey | undefined {
  try {
    const key = parsePublicKey(spki.valueBeforeDecodeView)
    // RFC 5480 § 2.1.1: a curve is named. OpenSSL would also take one that is spelled out.
    const isSpelledOut = key.type === 'ec' && childrenOf(childrenOf(spki)[0])[1] instanceof Constructed
    return isSpelledOut ? undefined : key
  } catch {
    return undefined
  }
}

/** Returns why a public key is too weak or too expensive to use, or `undefined` if it is acceptable. */
export function keyProblem({ type, bits = 0, exponentBits = 0, curve = '' }: PublicKey): string | undefined {
  if (type === 'rsa' || type === 'rsa-pss') {
    if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS) return `an RSA key of ${bits} bits`
    return exponentBits > MAX_RSA_EXPONENT_BITS ? `an RSA key with an exponent of ${exponentBits} bits` : undefined
  }
  if (type === 'ec') return CURVES.has(curve) ? undefined : `on the curve ${curve}`
  return `of the type ${type}`
}

/** Units of a check of a signature by a key that has no `keyProblem`, after their times in a browser. */
export const signatureCost = ({ type, bits = 0, curve = '' }: PublicKey): number =>
  type === 'ec' ? (/256/.test(curve) ? 3 : 7) : bits > 4096 ? 3 : 1

/**
 * The first byte of the KeyUsage bits (RFC 5280 § 4.2.1.3), or `undefined` if the extension is absent. If it is
 * malformed, the key may be used for nothing.
 */
export function keyUsage(certificate: Certificate): number | undefined {
  const extension = certificate.extensions.get(OID_KEY_USAGE)
  if (!extension) return undefined
  return extension.value instanceof BitString ? (extension.value.valueBlock.valueHexView[0] ?? 0) : 0
}

/**
 * The purposes (OIDs) of ExtendedKeyUsage (RFC 5280 § 4.2.1.12), or `undefined` if the extension is absent. If it is
 * malformed, there are none.
 */
export function extendedKeyUsage(certificate: Certificate): readonly string[] | undefined {
  const extension = certificate.extensions.get(OID_EXTENDED_KEY_USAGE)
  if (!extension) return undefined
  return extension.value instanceof ExtKeyUsage ? extension.value.keyPurposes : []
}

/**
 * Returns why a certificate may not sign timestamps, or `undefined` if it may. RFC 3161 § 2.3: timeStamping is the only
 * extended key usage, and the extension is critical.
 */
export function timestampingProblem(certificate: Certificate): string | undefined {
  const purposes = extendedKeyUsage(certificate)
  if (!purposes) return 'it has no extended key usage, timeStamping is required'
  if (!certificate.extensions.get(OID_EXTENDED_KEY_USAGE)?.critical) return 'its extended key usage is not critical'
  if (purposes.length !== 1 || purposes[0] !== OID_TIME_STAMPING)
    return 'its extended key usage is not timeStamping alone'
  const usage = keyUsage(certificate)
  if (usage !== undefined && (usage & (DIGITAL_SIGNATURE | NON_REPUDIATION)) === 0)
    return 'its key usage allows no signature'
  return undefined
}

/** The value of the SubjectKeyIdentifier extension. */
export function subjectKeyIdentifier(certificate: Certificate): Uint8Array | undefined {
  const value = certificate.extensions.get(OID_SUBJECT_KEY_ID)?.value
  return value instanceof OctetString ? value.valueBlock.valueHexView : undefined
}

/**
 * Returns why a certificate may not be in a path at `time` (ms since 1970), or `undefined` if it may: it must be valid
 * then, without unsupported critical extensions, and have an acceptable key.
 */
export function certificateProblem(certificate: Certificate, time: number): string | undefined {
  // Written so that an unreadable date (NaN) is rejected too.
  if (!(certificate.notBefore <= time && time <= certificate.notAfter)) return 'it was not valid at that time'
  for (const [oid, { critical }] of certificate.extensions)
    if (critical && !SUPPORTED_EXTENSIONS.has(oid)) return `its critical extension ${oid} is not supported`
  if (certificate.publicKey === undefined) return 'its public key cannot be read'
  const weakness = keyProblem(certificate.publicKey)
  return weakness && `its public key is ${weakness}`
}

/** Whether a certificate has an accepted signature by this issuer's key. */
export function isSignedBy(subject: Certificate, issuer: Certificate, budget: SignatureBudget): boolean {
  const scheme = schemeOnce(subject.pki.signatureAlgorithm, budget)
  const { publicKey } = issuer
  if (scheme === undefined || publicKey === undefined) return false
  return budget.once(`issued ${subject.fingerprint} ${issuer.fingerprint}`, () => {
    budget.spend(signatureCost(publicKey), subject.der.length)
    const { valueHexView, unusedBits } = subject.pki.signatureValue.valueBlock
    return unusedBits === 0 && isSignature(scheme, publicKey, subject.pki.tbsView, valueHexView)
  })
}

/**
 * Whether the names and, if both have them, the key identifiers say that `issuer` issued `subject`. Only a signature
 * proves it.
 */
export function isNamedAsIssuer(issuer: Certificate, subject: Certificate, budget: SignatureBudget): boolean {
  if (!isEqualName(subject.pki.issuer, issuer.pki.subject, budget)) return false
  // AuthorityKeyIdentifier ::= SEQUENCE { keyIdentifier [0] OPTIONAL, …, authorityCertSerialNumber [2] OPTIONAL }
  const value = subject.extensions.get(OID_AUTHORITY_KEY_ID)?.value
  const [named, serial] = [0, 2].map((tag) => value instanceof Sequence && taggedIn(value, tag))
  const isSame = (given: unknown, actual: Uint8Array | undefined): boolean =>
    !(given instanceof Primitive) || actual === undefined || equalBytes(given.valueBlock.valueHexView, actual)
  return isSame(named, subjectKeyIdentifier(issuer)) && isSame(serial, issuer.pki.serialNumber.valueBlock.valueHexView)
}

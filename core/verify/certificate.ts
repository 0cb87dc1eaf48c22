import { X509Certificate, type KeyObject } from 'node:crypto'
import { BitString, fromBER, OctetString, type BaseBlock } from 'asn1js'
import { BasicConstraints, Certificate as PkiCertificate, ExtKeyUsage, type Extension } from 'pkijs'
import { equalBytes } from '../bytes.ts'
import { RegistryError } from '../errors.ts'
import type { HashName } from './timestamp-info.ts'

/**
 * X.509 certificates and the path from a signer to a trust anchor (RFC 5280 § 6), offline and without revocation.
 *
 * pkijs reads the structure, because node:crypto does not tell which extensions are critical; node:crypto compares names
 * and checks signatures. Paths are built here: pkijs recurses without end on two certificates that sign each other.
 */

/** Hash of each signature algorithm that is accepted: RSA PKCS #1 v1.5 (RFC 4055 § 5) and ECDSA (RFC 5758 § 3.2). */
export const SIGNATURE_HASHES: ReadonlyMap<string, { readonly keyType: 'rsa' | 'ec'; readonly hash: HashName }> =
  new Map([
    ['1.2.840.113549.1.1.11', { keyType: 'rsa', hash: 'sha256' }],
    ['1.2.840.113549.1.1.12', { keyType: 'rsa', hash: 'sha384' }],
    ['1.2.840.113549.1.1.13', { keyType: 'rsa', hash: 'sha512' }],
    ['1.2.840.10045.4.3.2', { keyType: 'ec', hash: 'sha256' }],
    ['1.2.840.10045.4.3.3', { keyType: 'ec', hash: 'sha384' }],
    ['1.2.840.10045.4.3.4', { keyType: 'ec', hash: 'sha512' }],
  ])

const OID_SUBJECT_KEY_ID = '2.5.29.14'
const OID_KEY_USAGE = '2.5.29.15'
const OID_SUBJECT_ALT_NAME = '2.5.29.17'
const OID_BASIC_CONSTRAINTS = '2.5.29.19'
const OID_CERTIFICATE_POLICIES = '2.5.29.32'
const OID_EXTENDED_KEY_USAGE = '2.5.29.37'
const OID_ANY_EXTENDED_KEY_USAGE = '2.5.29.37.0'
export const OID_TIME_STAMPING = '1.3.6.1.5.5.7.3.8'

/** Critical extensions that are understood. Name and policy constraints are not: a path with them is refused. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  OID_KEY_USAGE,
  OID_SUBJECT_ALT_NAME,
  OID_BASIC_CONSTRAINTS,
  OID_CERTIFICATE_POLICIES,
  OID_EXTENDED_KEY_USAGE,
])

/** First byte of the KeyUsage bits (RFC 5280 § 4.2.1.3). */
const DIGITAL_SIGNATURE = 0x80
const NON_REPUDIATION = 0x40
const KEY_CERT_SIGN = 0x04

const CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1'])
const MIN_RSA_BITS = 2048
/** Attacker-controlled keys cost time: a 16,384-bit RSA check is some hundred times a usual one. */
const MAX_RSA_BITS = 8192
const MAX_PATH_LENGTH = 8
const MAX_PATH_CHECKS = 64

export interface Certificate {
  /** The exact bytes. */
  readonly der: Uint8Array
  readonly x509: X509Certificate
  readonly pki: PkiCertificate
  readonly extensions: ReadonlyMap<string, Extension>
  /** ms since 1970, both inclusive. */
  readonly notBefore: number
  readonly notAfter: number
}

const malformed = (reason: string, cause?: unknown): RegistryError =>
  new RegistryError('VERIFICATION_FAILED', `A certificate cannot be used: ${reason}`, { cause })

/** Reads one DER certificate. Throws `VERIFICATION_FAILED`. */
export function parseCertificate(der: Uint8Array): Certificate {
  const parsed = fromBER(der.slice())
  if (parsed.offset !== der.length) throw malformed('it is not exactly one DER value')
  return certificateFromSchema(parsed.result)
}

/** As `parseCertificate`, from a part of a larger structure. The input may be an attacker's. */
export function certificateFromSchema(schema: BaseBlock): Certificate {
  const der = schema.valueBeforeDecodeView.slice()
  let x509: X509Certificate
  let pki: PkiCertificate
  try {
    x509 = new X509Certificate(der)
    pki = new PkiCertificate({ schema })
  } catch (cause) {
    throw malformed('it is not X.509', cause)
  }
  // X509Certificate looks for PEM text first, anywhere in its input: a certificate that carries another one as PEM in
  // an extension would be read as that other one by node:crypto, and as itself by pkijs.
  if (!equalBytes(x509.raw, der)) throw malformed('it is not DER')
  const extensions = new Map<string, Extension>()
  for (const extension of pki.extensions ?? []) {
    if (extensions.has(extension.extnID)) throw malformed(`extension ${extension.extnID} is there twice`)
    extensions.set(extension.extnID, extension)
  }
  return { der, x509, pki, extensions, notBefore: Date.parse(x509.validFrom), notAfter: Date.parse(x509.validTo) }
}

/** Why this public key is not strong enough (or too costly) to be relied on; `undefined` where it is good. */
export function keyWeakness(key: KeyObject): string | undefined {
  const details = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === 'rsa') {
    const bits = details.modulusLength ?? 0
    return bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS ? undefined : `an RSA key of ${bits} bits`
  }
  if (key.asymmetricKeyType === 'ec')
    return CURVES.has(details.namedCurve ?? '') ? undefined : `the curve ${details.namedCurve}`
  return `a key of type ${key.asymmetricKeyType}`
}

/** `undefined` where the extension is absent. */
export function keyUsage(certificate: Certificate): number | undefined {
  const extension = certificate.extensions.get(OID_KEY_USAGE)
  if (!extension) return undefined
  const value: unknown = extension.parsedValue
  if (!(value instanceof BitString)) throw malformed('its key usage cannot be read')
  return value.valueBlock.valueHexView[0] ?? 0
}

/** `undefined` where the extension is absent. */
export function extendedKeyUsage(certificate: Certificate): readonly string[] | undefined {
  const extension = certificate.extensions.get(OID_EXTENDED_KEY_USAGE)
  if (!extension) return undefined
  const value: unknown = extension.parsedValue
  if (!(value instanceof ExtKeyUsage)) throw malformed('its extended key usage cannot be read')
  return value.keyPurposes
}

/** Why this certificate may not sign timestamps (RFC 3161 § 2.3: the purpose is critical and the only one); `undefined` where it may. */
export function whyNotTimestamping(certificate: Certificate): string | undefined {
  const purposes = extendedKeyUsage(certificate)
  if (!purposes) return 'it has no extended key usage, timeStamping is needed'
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
  const value: unknown = certificate.extensions.get(OID_SUBJECT_KEY_ID)?.parsedValue
  return value instanceof OctetString ? value.valueBlock.valueHexView : undefined
}

/** What holds for every certificate of a path: valid then, nothing critical that is not understood, a good key. */
export function whyNotUsable(certificate: Certificate, time: number): string | undefined {
  // Written so that an unreadable date (NaN) refuses.
  if (!(certificate.notBefore <= time && time <= certificate.notAfter)) return 'it was not valid at that time'
  for (const extension of certificate.extensions.values())
    if (extension.critical && !UNDERSTOOD.has(extension.extnID))
      return `its critical extension ${extension.extnID} is not understood`
  const weakness = keyWeakness(certificate.x509.publicKey)
  return weakness && `it holds ${weakness}`
}

/** Why `issuer` did not, or might not, issue `subject`; `below` counts the issuing certificates between `issuer` and the signer. */
function whyNotIssuer(issuer: Certificate, subject: Certificate, below: number, time: number): string | undefined {
  const unusable = whyNotUsable(issuer, time)
  if (unusable) return unusable
  const constraints: unknown = issuer.extensions.get(OID_BASIC_CONSTRAINTS)?.parsedValue
  if (!issuer.x509.ca || !(constraints instanceof BasicConstraints) || !constraints.cA) return 'it is not a CA'
  const limit = constraints.pathLenConstraint
  if (limit !== undefined && !(typeof limit === 'number' && below <= limit)) return 'its path length is exceeded'
  const usage = keyUsage(issuer)
  if (usage !== undefined && (usage & KEY_CERT_SIGN) === 0) return 'it may not sign certificates'
  const purposes = extendedKeyUsage(issuer)
  if (purposes && !purposes.includes(OID_TIME_STAMPING) && !purposes.includes(OID_ANY_EXTENDED_KEY_USAGE))
    return 'its extended key usage leaves out timeStamping'
  if (!SIGNATURE_HASHES.has(subject.pki.signatureAlgorithm.algorithmId))
    return `the signature algorithm ${subject.pki.signatureAlgorithm.algorithmId} below it is not accepted`
  if (!subject.x509.verify(issuer.x509.publicKey)) return 'the signature below it is not its own'
  return undefined
}

/**
 * The shortest path from `signer` (first) to one of `anchors` (last), all valid at `time` (ms since 1970). An anchor may be the
 * signer itself. Breadth first, each certificate once, so that certificates made by an attacker cost a bounded time.
 * Throws `VERIFICATION_FAILED` with the last reason met.
 */
export function pathToAnchor(
  signer: Certificate,
  embedded: readonly Certificate[],
  anchors: readonly Certificate[],
  time: number,
): readonly Certificate[] {
  const refuse = (reason: string): RegistryError =>
    new RegistryError(
      'VERIFICATION_FAILED',
      `The signer's certificate does not lead to a configured trust anchor: ${reason}`,
    )
  const unusable = whyNotUsable(signer, time)
  if (unusable) throw refuse(`of the signer: ${unusable}`)
  const anchored = new Set(anchors.map((anchor) => anchor.x509.fingerprint256))
  const candidates = [...anchors, ...embedded]
  const seen = new Set([signer.x509.fingerprint256])
  const paths: (readonly [Certificate, ...Certificate[]])[] = [[signer]]
  let checks = 0
  let reason = 'nobody known issued it'
  for (const path of paths) {
    const last = path.at(-1) ?? signer
    if (anchored.has(last.x509.fingerprint256)) return path
    if (path.length >= MAX_PATH_LENGTH) continue
    // RFC 5280 § 4.2.1.9: certificates that a CA issued to itself do not count.
    const below = path.slice(1).filter(({ x509 }) => x509.subject !== x509.issuer).length
    for (const candidate of candidates) {
      if (seen.has(candidate.x509.fingerprint256) || !last.x509.checkIssued(candidate.x509)) continue
      if (++checks > MAX_PATH_CHECKS) throw refuse(`more than ${MAX_PATH_CHECKS} issuers to try`)
      const refusal = whyNotIssuer(candidate, last, below, time)
      if (refusal) {
        reason = `of an issuer: ${refusal}`
        continue
      }
      seen.add(candidate.x509.fingerprint256)
      paths.push([...path, candidate])
    }
  }
  throw refuse(reason)
}

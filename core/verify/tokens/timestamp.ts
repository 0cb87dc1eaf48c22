import { digest as digestOf } from '#certificate-crypto'
import type { SignerInfo } from 'pkijs'
import { equalBytes } from '../../bytes.ts'
import type { ValidationData } from '../../ports/index.ts'
import { withParserErrors, HASHES, isKeyFor, isSignature, schemeOf } from './asn1.ts'
import {
  readableCertificates,
  keyProblem,
  signatureCost,
  timestampingProblem,
  type Certificate,
} from './certificate.ts'
import { buildPath, type Path } from './path.ts'
import { PARSE_COST, SignatureBudget } from '../untrusted.ts'
import {
  MAX_VALIDATION_DATA_BYTES,
  voidsTimestamp,
  type CertificateStatus,
  type RevocationStatus,
  type TimestampInfo,
  type VerifiedToken,
  type VerifyTimestampOptions,
  type VerifyTokenOptions,
} from '../token-verifier.ts'
import {
  checkContentAttributes,
  MAX_CERTIFICATES,
  parseToken,
  signedAttributes,
  signingCertificate,
  timestampError,
  positiveInteger,
  type ParsedToken,
} from './token.ts'
import { knownStatuses, worstOf } from './validation-data.ts'

/** How far a genTime may be ahead of the verifier's clock, ms. */
export const MAX_CLOCK_SKEW_MS = 300_000

/**
 * Parses a DER TimeStampResp (RFC 3161 § 2.4.2) that was granted. Checks only its form: the signature is not verified.
 *
 * @returns What the token states.
 * @throws `VERIFICATION_FAILED` if the response is malformed, too large or not granted.
 */
export const parseTimestampResponse = (der: Uint8Array): TimestampInfo =>
  parse(der, new SignatureBudget(), ({ info }) => info)

const parse = <T>(der: Uint8Array, budget: SignatureBudget, use: (token: ParsedToken) => T): T =>
  withParserErrors('The timestamp does not verify: it', () => use(tokenOnce(der, budget)))

/** A token is parsed once, also if it is used for several trees. */
const tokenOnce = (der: Uint8Array, budget: SignatureBudget): ParsedToken =>
  budget.once(`token ${budget.hashOf(der)}`, () => {
    budget.spend(PARSE_COST, der.length)
    return parseToken(der, budget)
  })

/** What a verified token states, and the revocation status of its certificates. */
export interface VerifiedTimestamp extends TimestampInfo {
  /**
   * Of the signer's certificate and its issuers, without the trust anchor. Present only if `validationData` was given.
   */
  readonly revocation?: readonly CertificateStatus[]
}

/**
 * Verifies a DER TimeStampResp over data, or over its digest. Pure, offline and synchronous.
 *
 * Checks status, form, imprint, nonce and policy; that there is exactly one signer; the signed attributes (RFC 5652 §
 * 11, RFC 5035) and the signature; that the signer's certificate is for timestamps (RFC 3161 § 2.3); and its path to a
 * trust anchor, with all certificates valid at genTime. Accepts RSA (2048 to 8192 bits, PKCS #1 v1.5 and PSS) and ECDSA
 * (P-256, P-384, P-521, brainpoolP256r1, P384r1, P512r1) with SHA-256, SHA-384 or SHA-512.
 *
 * With `validationData`, a token whose certificate was revoked is rejected (RFC 3161 § 4, `voidsTimestamp`). A
 * certificate that the data does not cover at genTime has the state `unknown`, which is accepted.
 *
 * @param der The whole response, at most `MAX_TIMESTAMP_BYTES`.
 * @throws `VERIFICATION_FAILED` with the first check that failed.
 * @example
 * const trustAnchors = certificatesFromPem(await readFile('tsa-ca.pem', 'utf8'))
 * const { genTime } = verifyTimestamp(response, { data: checkpoint, trustAnchors })
 */
export function verifyTimestamp(der: Uint8Array, options: VerifyTimestampOptions): VerifiedTimestamp {
  const { validationData } = options
  const budget = new SignatureBudget()
  if (validationData === undefined) return verifyToPath(der, options, budget).info
  const { info, revocation } = verifyToken(der, { ...options, validationData, budget })
  return { ...info, revocation }
}

/** As `verifyTimestamp`. Throws `VERIFICATION_FAILED`. */
export function verifyToken(der: Uint8Array, options: VerifyTokenOptions): VerifiedToken {
  const { validationData, budget, renewedAt = Infinity } = options
  const { info, path } = verifyToPath(der, options, budget)
  const isVoidedBy = (status: RevocationStatus): boolean =>
    voidsTimestamp(status, info.genTime) && !(status.state === 'revoked' && renewedAt < status.revokedAt)
  const revocation = path.slice(0, -1).map((certificate, i) => {
    const known = knownStatuses({ certificate, issuer: path[i + 1] ?? certificate, budget }, validationData)
    // Each revocation by itself: a renewal before a compromise does not help a token from after another revocation.
    if (known.some(isVoidedBy))
      throw timestampError('timestamp.revoked', `the certificate of ${certificate.subject} was revoked`)
    return { subject: certificate.subject, ...worstOf(known, info.genTime) }
  })
  return { info, certificates: path.map(({ der: bytes }) => bytes), revocation, signerKey: path[0].keyHash }
}

/** The certificates in a token, DER. Throws `VERIFICATION_FAILED`. */
export const certificatesIn = (der: Uint8Array, budget = new SignatureBudget()): readonly Uint8Array[] =>
  parse(der, budget, ({ certificates }) => certificates.map(({ der: bytes }) => bytes))

/**
 * Verifies a token as `verifyTimestamp`, without revocation.
 *
 * @returns The DER certificates of its path, from the signer's certificate to the trust anchor.
 * @throws `VERIFICATION_FAILED`, as `verifyTimestamp`.
 */
export const timestampCertificates = (der: Uint8Array, options: VerifyTimestampOptions): readonly Uint8Array[] =>
  verifyToPath(der, options, new SignatureBudget()).path.map((certificate) => certificate.der)

interface VerifiedPath {
  readonly info: TimestampInfo
  readonly path: Path
}

function verifyToPath(der: Uint8Array, options: VerifyTimestampOptions, budget: SignatureBudget): VerifiedPath {
  const anchors = budget.once(options.trustAnchors, () => readableCertificates(options.trustAnchors, budget))
  return parse(der, budget, (token) => {
    const { info, signer } = token
    checkClaims(info, options)
    const attributes = signedAttributes(signer)
    checkContentAttributes(attributes, token)
    const candidates = [...token.certificates, ...storedCertificates(options.validationData, budget)]
    const certificate = signingCertificate(attributes, signer, [...candidates, ...anchors], budget)
    checkSignature(signer, certificate, budget)
    const problem = timestampingProblem(certificate)
    if (problem)
      throw timestampError('certificate.unusable', `the signer's certificate is not for timestamps: ${problem}`)
    return { info, path: buildPath({ signer: certificate, candidates, anchors, time: info.genTime, budget }) }
  })
}

/** Additional certificates are trusted no more than those in the token. Those that cannot be parsed are ignored. */
function storedCertificates(
  validationData: readonly ValidationData[] = [],
  budget: SignatureBudget,
): readonly Certificate[] {
  return budget.once(validationData, () => parseStored(validationData, budget))
}

function parseStored(validationData: readonly ValidationData[], budget: SignatureBudget): readonly Certificate[] {
  const pieces = validationData.filter(
    ({ type, der }) => type === 'certificate' && der.length <= MAX_VALIDATION_DATA_BYTES,
  )
  return readableCertificates(
    pieces.slice(0, MAX_CERTIFICATES).map(({ der }) => der),
    budget,
  )
}

// -- claims

function checkClaims(info: TimestampInfo, options: VerifyTimestampOptions): void {
  const digest = 'data' in options ? digestOf(info.hashAlgorithm, options.data) : options.digest
  if (!equalBytes(digest, info.imprint))
    throw timestampError('timestamp.data-differs', 'the imprint belongs to other data')
  if (options.nonce) {
    if (!info.nonce) throw timestampError('timestamp.request-differs', 'the nonce is missing')
    if (!equalBytes(positiveInteger(options.nonce), info.nonce))
      throw timestampError('timestamp.request-differs', 'the nonce is not the one of the request')
  }
  if (options.policy !== undefined && info.policy !== options.policy)
    throw timestampError('timestamp.request-differs', `expected the policy ${options.policy}, got ${info.policy}`)
  if (options.at !== undefined && info.genTime > options.at + MAX_CLOCK_SKEW_MS)
    throw timestampError('timestamp.in-future', 'genTime lies in the future')
}

// -- signature

function checkSignature(signer: SignerInfo, certificate: Certificate, budget: SignatureBudget): void {
  const digest = HASHES.get(signer.digestAlgorithm.algorithmId)?.name
  const scheme = schemeOf(signer.signatureAlgorithm, digest)
  if (!scheme)
    throw timestampError(
      'timestamp.unsupported',
      `signatures of ${signer.signatureAlgorithm.algorithmId} are not accepted`,
    )
  const key = certificate.publicKey
  if (key === undefined) throw timestampError('certificate.unusable', "the signer's public key cannot be read")
  const problem = keyProblem(key)
  if (problem) throw timestampError('certificate.unusable', `the signer's public key is ${problem}`)
  if (!isKeyFor(key, scheme))
    throw timestampError('timestamp.unsupported', "the signature algorithm does not match the type of the signer's key")
  // The bytes of the attributes, with the tag of a SET (RFC 5652 § 5.4).
  const signed = new Uint8Array(signer.signedAttrs?.encodedValue ?? new ArrayBuffer(0))
  budget.spend(signatureCost(key), signed.length)
  if (!isSignature(scheme, key, signed, signer.signature.valueBlock.valueHexView))
    throw timestampError('timestamp.signature', 'the signature is wrong')
}

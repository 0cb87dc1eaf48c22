import { digest as digestOf } from '#certificate-crypto'
import { BitString, Enumerated, GeneralizedTime, Sequence, type BaseBlock } from 'asn1js'
import {
  AlgorithmIdentifier,
  BasicOCSPResponse,
  Extensions,
  OCSPResponse,
  RelativeDistinguishedNames,
  RevokedCertificate,
  type SingleResponse,
  type Extension,
} from 'pkijs'
import { equalBytes, toHex } from '../../bytes.ts'
import type { ValidationData } from '../../ports/index.ts'
import { derAt, derIn, derOfPem, membersOf, type DerValue } from '../der.ts'
import { childrenOf, extensionValue, parseAsn1, isSignature, schemeOf, smallInteger, timeOf } from './asn1.ts'
import {
  certificateOnce,
  certificateProblem,
  extendedKeyUsage,
  isNamedAsIssuer,
  isSignedBy,
  keyUsage,
  signatureCost,
  type Certificate,
} from './certificate.ts'
import { isHarmless, MAX_CRL_BYTES, MAX_VALIDATION_DATA_BYTES, type RevocationStatus } from '../token-verifier.ts'
import { PARSE_COST, type SignatureBudget } from '../untrusted.ts'

/**
 * Parses certificate revocation lists (RFC 5280 § 5) and OCSP responses (RFC 6960), offline. The input is untrusted: a
 * piece that is malformed, too large, about another certificate or not signed by its issuer is ignored.
 */

/** A responder sends one certificate of its own. More would only cost time. */
const MAX_RESPONDERS = 4

const OID_CRL_REASON = '2.5.29.21'
const OID_INVALIDITY_DATE = '2.5.29.24'
const OID_OCSP_BASIC = '1.3.6.1.5.5.7.48.1.1'
const OID_OCSP_SIGNING = '1.3.6.1.5.5.7.3.9'
/** CRLReason (RFC 5280 § 5.3.1). */
const REMOVE_FROM_CRL = 8
/** The OID of the extension certificateIssuer, 2.5.29.29, in DER. */
const CERTIFICATE_ISSUER = '0603551d1d'
/** First byte of the KeyUsage bits (RFC 5280 § 4.2.1.3). */
const CRL_SIGN = 0x02
/** Hash algorithms of an OCSP CertID, by OID. */
const CERT_ID_HASHES: ReadonlyMap<string, 'sha1' | 'sha256'> = new Map([
  ['1.3.14.3.2.26', 'sha1'],
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
])

/** What a status is read from. */
interface StatusRequest {
  readonly certificate: Certificate
  readonly issuer: Certificate
  readonly budget: SignatureBudget
}

type KnownStatus = Exclude<RevocationStatus, { readonly state: 'unknown' }>
type Revoked = Extract<RevocationStatus, { readonly state: 'revoked' }>

/** What all pieces say about a certificate, and which of them cannot be used. They are read once for all tokens. */
export function knownStatuses(
  request: StatusRequest,
  validationData: readonly ValidationData[],
): readonly RevocationStatus[] {
  const { certificate, issuer, budget } = request
  return budget.once(`statuses ${certificate.fingerprint} ${issuer.fingerprint}`, () =>
    validationData.flatMap((piece) => readStatuses(piece, request)),
  )
}

/** A revocation counts before `good`, one that may be a compromise before a harmless one, then the earliest one. */
export function worstOf(statuses: readonly RevocationStatus[]): RevocationStatus {
  const [revoked] = statuses.filter((status) => status.state === 'revoked').toSorted(compareRevocations)
  const [newest] = statuses.filter((status) => status.state === 'good').toSorted((a, b) => b.asOf - a.asOf)
  return revoked ?? newest ?? statuses[0] ?? { state: 'unknown' }
}

const compareRevocations = (a: Revoked, b: Revoked): number =>
  Number(isHarmless(a)) - Number(isHarmless(b)) || a.revokedAt - b.revokedAt || b.asOf - a.asOf

function readStatuses({ type, der: given }: ValidationData, request: StatusRequest): readonly RevocationStatus[] {
  if (type === 'certificate') return []
  try {
    const der = request.budget.once(`der ${request.budget.hashOf(given)}`, () => derOfPem(given))
    const limit = type === 'crl' ? MAX_CRL_BYTES : MAX_VALIDATION_DATA_BYTES
    if (der.length > limit) return unusable(`a list of ${der.length} bytes is too large, at most ${limit} are read`)
    return type === 'crl' ? readCrl(der, request) : readOcsp(der, request)
  } catch (error) {
    if (request.budget.isExceeded) throw error
    // The parsers throw errors of many kinds for malformed input.
    return unusable('it cannot be read')
  }
}

const unusable = (why: string): readonly RevocationStatus[] => [{ state: 'unknown', why }]

interface Signed {
  readonly bytes: Uint8Array
  readonly algorithm: AlgorithmIdentifier
  readonly signature: BitString
}

function hasSignatureBy(
  signer: Certificate,
  { bytes, algorithm, signature }: Signed,
  budget: SignatureBudget,
): boolean {
  const scheme = schemeOf(algorithm)
  const { publicKey } = signer
  if (scheme === undefined || publicKey === undefined) return false
  return budget.once(`signed ${budget.hashOf(bytes)} ${signer.fingerprint}`, () => {
    budget.spend(signatureCost(publicKey), bytes.length)
    return isSignature(scheme, publicKey, bytes, signature.valueBlock.valueHexView)
  })
}

const hasCritical = (extensions: readonly Extension[] | undefined): boolean =>
  extensions?.some(({ critical }) => critical) === true

// -- CRL

/** A list whose signature is not verified. */
interface Crl {
  readonly der: Uint8Array
  readonly issuer: RelativeDistinguishedNames
  readonly asOf: number
  /** It has a critical extension, which may limit what it is about: what it does not list is unknown (§ 5.2.5). */
  readonly isPartial: boolean
  readonly signed: Signed
  readonly list: DerValue | undefined
  /** By serial number, hex. */
  readonly entries: ReadonlyMap<string, readonly DerValue[]>
}

/**
 * Reads a list that the issuer itself signed. A certificate that it lists is revoked, also if the list is partial. The
 * entries are read in passing, because lists have up to 8 MB.
 */
function readCrl(der: Uint8Array, { certificate, issuer, budget }: StatusRequest): readonly RevocationStatus[] {
  const crl = budget.once(`crl ${budget.hashOf(der)}`, () => {
    budget.spend(PARSE_COST, der.length)
    return parseCrl(der, budget)
  })
  if (!crl.issuer.isEqual(certificate.pki.issuer)) return []
  const usage = keyUsage(issuer)
  if (usage !== undefined && (usage & CRL_SIGN) === 0) return unusable('the key of the issuer may not sign lists')
  if (!hasSignatureBy(issuer, crl.signed, budget)) return unusable('its signature is not by the issuer')
  const { asOf, isPartial } = crl
  const serial = toHex(certificate.pki.serialNumber.valueBlock.valueHexView)
  const entries = (crl.entries.get(serial) ?? [])
    .filter((entry) => !isPartial || isByIssuer(crl, entry, issuer, budget))
    .map((entry) => new RevokedCertificate({ schema: readAt(der, entry, budget) }))
    .map(({ revocationDate, crlEntryExtensions }) =>
      revocationOf(revocationDate.value.getTime(), crlEntryExtensions?.extensions, budget),
    )
  // Partial lists of changes name those that are not revoked any more.
  const revoked = entries.filter(({ reason }) => reason !== REMOVE_FROM_CRL)
  if (revoked.length > 0) return revoked.map((entry) => ({ state: 'revoked', by: 'crl', asOf, ...entry }))
  return isPartial
    ? unusable('it has a critical extension that is not known, and does not list the certificate')
    : [{ state: 'good', by: 'crl', asOf }]
}

/**
 * CertificateList ::= SEQUENCE { tbsCertList SEQUENCE { version INTEGER OPTIONAL, signature, issuer, thisUpdate,
 * nextUpdate OPTIONAL, revokedCertificates SEQUENCE OF … OPTIONAL, crlExtensions [0] OPTIONAL }, signatureAlgorithm,
 * signatureValue }
 */
function parseCrl(der: Uint8Array, budget: SignatureBudget): Crl {
  const whole = present(derAt(der))
  const [tbs, algorithm, signature] = membersOf(der, whole, 3)
  const members = membersOf(der, present(tbs), MAX_CRL_MEMBERS)
  const [, issuer, thisUpdate, ...others] = members[0]?.tag === INTEGER ? members.slice(1) : members
  const list = others.find(({ tag }) => tag === SEQUENCE)
  const [extensions] = derIn(der, others.find(({ tag }) => tag === CRL_EXTENSIONS) ?? EMPTY)
  const read = (value: DerValue | undefined): BaseBlock => readAt(der, present(value), budget)
  const bits = read(signature)
  if (whole.end !== der.length || !(bits instanceof BitString)) throw new Error('Not a CRL')
  const asOf = timeOf(read(thisUpdate))
  if (Number.isNaN(asOf)) throw new Error('Not a time')
  return {
    der,
    issuer: new RelativeDistinguishedNames({ schema: read(issuer) }),
    asOf,
    isPartial: extensions !== undefined && hasCritical(new Extensions({ schema: read(extensions) }).extensions),
    signed: {
      bytes: der.subarray(present(tbs).at, present(tbs).end),
      algorithm: new AlgorithmIdentifier({ schema: read(algorithm) }),
      signature: bits,
    },
    list,
    entries: entriesOf(der, list, budget),
  }
}

const MAX_CRL_MEMBERS = 7
/** An issuer lists a certificate once. More entries would only cost time. */
const MAX_ENTRIES = 16
const INTEGER = 0x02
const SEQUENCE = 0x30
const CRL_EXTENSIONS = 0xa0
const EMPTY = { start: 0, end: 0 }

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('A value is missing')
  return value
}

const readAt = (der: Uint8Array, { at, end }: DerValue, budget: SignatureBudget): BaseBlock =>
  parseAsn1(der.subarray(at, end), 'A value', budget)

/** So many entries cost one unit. Real ones have at least 30 bytes, those of an attacker 5. */
const ENTRIES_PER_UNIT = 500

function* entriesIn(der: Uint8Array, list: DerValue | undefined, budget: SignatureBudget): Generator<DerValue> {
  let count = 0
  for (const entry of derIn(der, list ?? EMPTY)) {
    if (++count % ENTRIES_PER_UNIT === 0) budget.spend()
    yield entry
  }
}

function entriesOf(der: Uint8Array, list: DerValue | undefined, budget: SignatureBudget): Crl['entries'] {
  const entries = new Map<string, DerValue[]>()
  for (const entry of entriesIn(der, list, budget)) {
    const serial = present(derAt(der, entry.start, entry.end))
    const key = toHex(der.subarray(serial.start, serial.end))
    const known = entries.get(key)
    if (known === undefined) entries.set(key, [entry])
    else if (known.length < MAX_ENTRIES) known.push(entry)
  }
  return entries
}

/** In a list for several issuers, an entry may name another one, which then holds for those after it (§ 5.3.3). */
function isByIssuer(
  { der, list, issuer: author }: Crl,
  listed: DerValue,
  issuer: Certificate,
  budget: SignatureBudget,
): boolean {
  let named = author.isEqual(issuer.pki.subject)
  for (const entry of entriesIn(der, list, budget)) {
    const [, , extensions] = derIn(der, entry)
    const text = extensions === undefined ? '' : toHex(der.subarray(extensions.at, extensions.end))
    if (text.includes(CERTIFICATE_ISSUER)) named = text.includes(toHex(issuerIdentity(issuer).name))
    if (entry.at === listed.at) break
  }
  return named
}

/**
 * When and why a certificate was revoked. If a date is given on which it became invalid, that counts if it is earlier.
 * A reason that cannot be read counts as none, which may be a compromise.
 */
function revocationOf(
  revokedAt: number,
  extensions: readonly Extension[] | undefined,
  budget: SignatureBudget,
): Pick<Revoked, 'revokedAt' | 'reason'> {
  const valueOf = (oid: string): unknown =>
    extensionValue(
      extensions?.find(({ extnID }) => extnID === oid),
      budget,
    )
  const [given, invalidity] = [valueOf(OID_CRL_REASON), valueOf(OID_INVALIDITY_DATE)]
  const reason = given instanceof Enumerated ? smallInteger(given) : undefined
  const invalidFrom = invalidity instanceof GeneralizedTime ? invalidity.toDate().getTime() : revokedAt
  return { revokedAt: Math.min(revokedAt, invalidFrom), ...(reason !== undefined && { reason }) }
}

// -- OCSP

/** A response whose signature is not verified. */
interface Ocsp {
  readonly schema: BaseBlock
  readonly basic: BasicOCSPResponse
}

function readOcsp(der: Uint8Array, { certificate, issuer, budget }: StatusRequest): readonly RevocationStatus[] {
  const { schema, basic } = budget.once(`ocsp ${budget.hashOf(der)}`, () => {
    budget.spend(PARSE_COST, der.length)
    return parseOcsp(der, budget)
  })
  const { tbsResponseData: data, signatureAlgorithm: algorithm, signature } = basic
  const about = data.responses.filter(({ certID }) => identifies(certID, certificate, issuer))
  if (about.length === 0) return []
  if (hasCritical(data.responseExtensions)) return unusable('it has a critical extension that is not known')
  const responders = [issuer, ...delegatedResponders(schema, { issuer, time: data.producedAt.getTime(), budget })]
  const signed = { bytes: data.tbsView, algorithm, signature }
  if (!responders.some((responder) => hasSignatureBy(responder, signed, budget)))
    return unusable('its signature is not by the issuer')
  return about
    .filter(({ singleExtensions }) => !hasCritical(singleExtensions))
    .flatMap((single) => readSingleResponse(single, budget))
}

function parseOcsp(der: Uint8Array, budget: SignatureBudget): Ocsp {
  const { responseStatus, responseBytes } = new OCSPResponse({ schema: parseAsn1(der, 'The OCSP response', budget) })
  if (smallInteger(responseStatus) !== 0 || responseBytes?.responseType !== OID_OCSP_BASIC)
    throw new Error('Not a basic response')
  const schema = parseAsn1(responseBytes.response.valueBlock.valueHexView, 'The basic OCSP response', budget)
  // Without the certificates, which pkijs would parse with the keys in them.
  const value = childrenOf(schema).slice(0, 3)
  return { schema, basic: new BasicOCSPResponse({ schema: new Sequence({ value }) }) }
}

interface ResponderRequest {
  readonly issuer: Certificate
  /** When the response was made, ms since 1970. */
  readonly time: number
  readonly budget: SignatureBudget
}

/** The certificates in the response that the issuer itself authorised to sign OCSP responses (RFC 6960 § 4.2.2.2). */
function delegatedResponders(basic: BaseBlock, { issuer, time, budget }: ResponderRequest): readonly Certificate[] {
  // BasicOCSPResponse ::= SEQUENCE {
  //   tbsResponseData, signatureAlgorithm, signature, certs [0] EXPLICIT SEQUENCE OF Certificate OPTIONAL }
  const certificates = childrenOf(childrenOf(childrenOf(basic)[3])[0])
  return certificates
    .slice(0, MAX_RESPONDERS)
    .map(({ valueBeforeDecodeView }) => certificateOnce(valueBeforeDecodeView, budget))
    .filter(
      (responder) =>
        certificateProblem(responder, time) === undefined &&
        extendedKeyUsage(responder)?.includes(OID_OCSP_SIGNING) === true &&
        isNamedAsIssuer(issuer, responder) &&
        isSignedBy(responder, issuer, budget),
    )
}

function identifies(certId: SingleResponse['certID'], certificate: Certificate, issuer: Certificate): boolean {
  const hash = CERT_ID_HASHES.get(certId.hashAlgorithm.algorithmId)
  if (hash === undefined || !certId.serialNumber.isEqual(certificate.pki.serialNumber)) return false
  const digest = (bytes: Uint8Array): Uint8Array => digestOf(hash, bytes)
  const { name, key } = issuerIdentity(issuer)
  return (
    equalBytes(certId.issuerNameHash.valueBlock.valueHexView, digest(name)) &&
    equalBytes(certId.issuerKeyHash.valueBlock.valueHexView, digest(key))
  )
}

/** The parts of an issuer that a CertID hashes (RFC 6960 § 4.1.1): the DER of its name, and the bits of its key. */
export const issuerIdentity = ({ pki }: Certificate): { readonly name: Uint8Array; readonly key: Uint8Array } => ({
  name: new Uint8Array(pki.subject.valueBeforeDecode),
  key: pki.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView,
})

/** CertStatus ::= CHOICE { good [0], revoked [1] { revocationTime, revocationReason [0] OPTIONAL }, unknown [2] }. */
function readSingleResponse(
  { certStatus, thisUpdate, singleExtensions }: SingleResponse,
  budget: SignatureBudget,
): readonly KnownStatus[] {
  // pkijs types it as `any`.
  const status: BaseBlock = certStatus
  const asOf = thisUpdate.getTime()
  if (status.idBlock.tagNumber === 0) return [{ state: 'good', by: 'ocsp', asOf }]
  const [time, taggedReason] = childrenOf(status)
  if (status.idBlock.tagNumber !== 1 || !(time instanceof GeneralizedTime)) return []
  const [given] = childrenOf(taggedReason)
  const reason = given instanceof Enumerated ? smallInteger(given) : undefined
  return [
    {
      state: 'revoked',
      by: 'ocsp',
      asOf,
      revokedAt: revocationOf(time.toDate().getTime(), singleExtensions, budget).revokedAt,
      ...(reason !== undefined && { reason }),
    },
  ]
}

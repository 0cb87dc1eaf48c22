import { digest as digestOf } from '#certificate-crypto'
import { Enumerated, GeneralizedTime, Sequence, type BaseBlock } from 'asn1js'
import { BasicOCSPResponse, OCSPResponse, type SingleResponse } from 'pkijs'
import { equalBytes } from '../../bytes.ts'
import { childrenOf, extensionValue, isEqualInteger, parseAsn1, smallInteger, timeOf } from './asn1.ts'
import {
  certificateProblem,
  extendedKeyUsage,
  isNamedAsIssuer,
  isSignedBy,
  readableCertificates,
  type Certificate,
} from './certificate.ts'
import {
  goodUnlessExpired,
  hasCritical,
  hasSignatureBy,
  issuerIdentity,
  revocationOf,
  unusable,
  type Statement,
  type StatusRequest,
} from './statement.ts'
import { PARSE_COST, type SignatureBudget } from '../untrusted.ts'

/** OCSP responses (RFC 6960), offline. */

/** A responder sends one certificate of its own. More would only cost time. */
const MAX_RESPONDERS = 4

/** RFC 6960 § 4.4.4. */
const OID_ARCHIVE_CUTOFF = '1.3.6.1.5.5.7.48.1.6'
const OID_OCSP_BASIC = '1.3.6.1.5.5.7.48.1.1'
const OID_OCSP_SIGNING = '1.3.6.1.5.5.7.3.9'
/** Hash algorithms of an OCSP CertID, by OID. */
const CERT_ID_HASHES: ReadonlyMap<string, Parameters<typeof digestOf>[0]> = new Map([
  ['1.3.14.3.2.26', 'sha1'],
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
  ['2.16.840.1.101.3.4.2.2', 'sha384'],
  ['2.16.840.1.101.3.4.2.3', 'sha512'],
])

/** A response whose signature is not verified. */
interface Ocsp {
  readonly schema: BaseBlock
  readonly basic: BasicOCSPResponse
}

/** Reads a response that the issuer signed, or a responder that it authorised. */
export function readOcsp(der: Uint8Array, request: StatusRequest): readonly Statement[] {
  const { certificate, issuer, budget } = request
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
    .flatMap((single) => readSingleResponse(single, request))
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
  const certificates = childrenOf(childrenOf(childrenOf(basic)[3])[0]).slice(0, MAX_RESPONDERS)
  return readableCertificates(
    certificates.map(({ valueBeforeDecodeView }) => valueBeforeDecodeView),
    budget,
  ).filter(
    (responder) =>
      certificateProblem(responder, time) === undefined &&
      extendedKeyUsage(responder)?.includes(OID_OCSP_SIGNING) === true &&
      isNamedAsIssuer(issuer, responder, budget) &&
      isSignedBy(responder, issuer, budget),
  )
}

function identifies(certId: SingleResponse['certID'], certificate: Certificate, issuer: Certificate): boolean {
  const hash = CERT_ID_HASHES.get(certId.hashAlgorithm.algorithmId)
  if (hash === undefined || !isEqualInteger(certId.serialNumber, certificate.pki.serialNumber)) return false
  const digest = (bytes: Uint8Array): Uint8Array => digestOf(hash, bytes)
  const { name, key } = issuerIdentity(issuer)
  return (
    equalBytes(certId.issuerNameHash.valueBlock.valueHexView, digest(name)) &&
    equalBytes(certId.issuerKeyHash.valueBlock.valueHexView, digest(key))
  )
}

/** CertStatus ::= CHOICE { good [0], revoked [1] { revocationTime, revocationReason [0] OPTIONAL }, unknown [2] }. */
function readSingleResponse(
  { certStatus, thisUpdate, nextUpdate = thisUpdate, singleExtensions }: SingleResponse,
  request: StatusRequest,
): readonly Statement[] {
  // pkijs types it as `any`.
  const status: BaseBlock = certStatus
  const asOf = thisUpdate.getTime()
  const keptFrom = timeOf(extensionValue(singleExtensions, OID_ARCHIVE_CUTOFF, request.budget))
  if (status.idBlock.tagNumber === 0)
    return goodUnlessExpired({ by: 'ocsp', asOf, until: nextUpdate.getTime(), keptFrom }, request)
  const [time, taggedReason] = childrenOf(status)
  if (status.idBlock.tagNumber !== 1 || !(time instanceof GeneralizedTime)) return []
  const [given] = childrenOf(taggedReason)
  const reason = given instanceof Enumerated ? smallInteger(given) : undefined
  return [
    {
      state: 'revoked',
      by: 'ocsp',
      asOf,
      revokedAt: revocationOf(time.toDate().getTime(), singleExtensions, request.budget).revokedAt,
      ...(reason !== undefined && { reason }),
    },
  ]
}

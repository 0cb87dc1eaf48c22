import * as asn1js from 'asn1js'
import * as pkijs from 'pkijs'
import { extension, type Issuer } from './test-authority.ts'

/** Makes CRLs and OCSP responses, correct or wrong, with pkijs and real keys. Needs no openssl program. */

export const DEFAULT_THIS_UPDATE = new Date('2026-06-01T00:00:00Z')

/** A CRLReason (RFC 5280 § 5.3.1). */
export const REASON = { keyCompromise: 1, superseded: 4 } as const

interface CrlOptions {
  readonly issuer: Issuer
  readonly revoked?: readonly RevokedOptions[]
  readonly thisUpdate?: Date
  readonly hash?: 'SHA-1' | 'SHA-256'
  readonly extensions?: readonly pkijs.Extension[]
}

interface RevokedOptions {
  readonly certificate: pkijs.Certificate
  readonly at: Date
  readonly reason?: number
  readonly extensions?: readonly pkijs.Extension[]
}

/** A DER CertificateList (RFC 5280 § 5.1). */
export async function crl(options: CrlOptions): Promise<Uint8Array> {
  const { issuer, revoked = [], thisUpdate = DEFAULT_THIS_UPDATE, hash = 'SHA-256', extensions } = options
  const list = new pkijs.CertificateRevocationList()
  list.version = 1
  list.issuer = issuer.certificate.subject
  list.thisUpdate = new pkijs.Time({ type: 0, value: thisUpdate })
  list.nextUpdate = new pkijs.Time({ type: 0, value: new Date(thisUpdate.getTime() + 86_400_000) })
  if (revoked.length > 0) list.revokedCertificates = revoked.map(revokedEntry)
  if (extensions) list.crlExtensions = new pkijs.Extensions({ extensions: [...extensions] })
  await list.sign(issuer.keys.privateKey, hash)
  return new Uint8Array(list.toSchema(true).toBER())
}

function revokedEntry({ certificate, at, reason, extensions = [] }: RevokedOptions): pkijs.RevokedCertificate {
  const all = [
    ...(reason === undefined ? [] : [extension('2.5.29.21', false, new asn1js.Enumerated({ value: reason }))]),
    ...extensions,
  ]
  return new pkijs.RevokedCertificate({
    userCertificate: certificate.serialNumber,
    revocationDate: new pkijs.Time({ type: 0, value: at }),
    ...(all.length > 0 && { crlEntryExtensions: new pkijs.Extensions({ extensions: all }) }),
  })
}

type OcspState = 'good' | 'unknown' | { readonly revokedAt: Date; readonly reason?: number }

export interface OcspOptions {
  readonly issuer: Issuer
  readonly certificate: pkijs.Certificate
  readonly state: OcspState
  /** The signer. Default: the issuer. */
  readonly responder?: Issuer
  /** Certificates in the response. Default: the responder's, if there is one. */
  readonly certificates?: readonly pkijs.Certificate[]
  readonly thisUpdate?: Date
  readonly certIdHash?: 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512'
  readonly extensions?: readonly pkijs.Extension[]
  readonly singleExtensions?: readonly pkijs.Extension[]
  /** Changes the statement about the certificate before it is signed. */
  readonly change?: (single: pkijs.SingleResponse) => void
  /** Default: a basic response. */
  readonly responseType?: string
  /** OCSPResponseStatus (RFC 6960 § 4.2.1). Default 0, successful. */
  readonly status?: number
}

const OCSP_BASIC = '1.3.6.1.5.5.7.48.1.1'

/** A DER OCSPResponse (RFC 6960 § 4.2.1). */
export async function ocspResponse(options: OcspOptions): Promise<Uint8Array> {
  const { responder = options.issuer, responseType = OCSP_BASIC, status = 0 } = options
  const basic = new pkijs.BasicOCSPResponse()
  basic.tbsResponseData.responderID = responder.certificate.subject
  basic.tbsResponseData.producedAt = options.thisUpdate ?? DEFAULT_THIS_UPDATE
  basic.tbsResponseData.responses = [await singleResponse(options)]
  if (options.extensions) basic.tbsResponseData.responseExtensions = [...options.extensions]
  const certificates = options.certificates ?? (options.responder ? [options.responder.certificate] : [])
  if (certificates.length > 0) basic.certs = [...certificates]
  await basic.sign(responder.keys.privateKey, 'SHA-256')
  const response = new pkijs.OCSPResponse({
    responseStatus: new asn1js.Enumerated({ value: status }),
    responseBytes: new pkijs.ResponseBytes({
      responseType,
      response: new asn1js.OctetString({ valueHex: basic.toSchema().toBER() }),
    }),
  })
  return new Uint8Array(response.toSchema().toBER())
}

async function singleResponse(options: OcspOptions): Promise<pkijs.SingleResponse> {
  const certID = new pkijs.CertID()
  await certID.createForCertificate(options.certificate, {
    hashAlgorithm: options.certIdHash ?? 'SHA-1',
    issuerCertificate: options.issuer.certificate,
  })
  const single = new pkijs.SingleResponse({ certID, thisUpdate: options.thisUpdate ?? DEFAULT_THIS_UPDATE })
  single.certStatus = certStatus(options.state)
  if (options.singleExtensions) single.singleExtensions = [...options.singleExtensions]
  options.change?.(single)
  return single
}

/** CertStatus ::= CHOICE { good [0], revoked [1] { revocationTime, revocationReason [0] OPTIONAL }, unknown [2] }. */
function certStatus(state: OcspState): asn1js.BaseBlock {
  if (typeof state === 'string')
    return new asn1js.Primitive({ idBlock: { tagClass: 3, tagNumber: state === 'good' ? 0 : 2 } })
  const { revokedAt, reason } = state
  const tagged =
    reason === undefined
      ? []
      : [
          new asn1js.Constructed({
            idBlock: { tagClass: 3, tagNumber: 0 },
            value: [new asn1js.Enumerated({ value: reason })],
          }),
        ]
  return new asn1js.Constructed({
    idBlock: { tagClass: 3, tagNumber: 1 },
    value: [new asn1js.GeneralizedTime({ valueDate: revokedAt }), ...tagged],
  })
}

import { createHash } from 'node:crypto'
import { ObjectIdentifier, type BaseBlock, type OctetString } from 'asn1js'
import type { Extension } from 'pkijs'
import type { ValidationData } from '../ports.ts'
import { parseCertificate } from './certificate.ts'
import { decode, issuerIdentity, statusOf } from './revocation-data.ts'
import type { RevocationStatus } from './revocation-status.ts'
import { children, guarded } from './timestamp-response.ts'

export {
  isVoidBy,
  MAX_VALIDATION_DATA_BYTES as MAX_EVIDENCE_BYTES,
  type RevocationStatus,
} from './revocation-status.ts'

/** What the evidence says of a certificate; both DER. Where one piece says revoked, it is; else the newest counts. Throws `VERIFICATION_FAILED` for certificates that are none. */
export const revocationStatus = (
  certificate: Uint8Array,
  issuer: Uint8Array,
  evidence: readonly ValidationData[],
): RevocationStatus => statusOf(parseCertificate(certificate), parseCertificate(issuer), evidence)

// -- where it is to be had

const OID_AUTHORITY_INFO_ACCESS = '1.3.6.1.5.5.7.1.1'
const OID_CRL_DISTRIBUTION_POINTS = '2.5.29.31'
const OID_OCSP = '1.3.6.1.5.5.7.48.1'

/** The http(s) addresses that a certificate names for its revocation. They are its issuer's choice: whoever asks there decides what it may reach. */
export interface RevocationAddresses {
  readonly ocsp: readonly string[]
  readonly crl: readonly string[]
  /** CertID of the OCSP request (RFC 6960 § 4.1.1) by SHA-1, which every responder knows: names and keys are told by it, nothing relies on it. */
  readonly certId: { readonly nameHash: Uint8Array; readonly keyHash: Uint8Array; readonly serialNumber: Uint8Array }
}

/** Of a certificate under its issuer, both DER. Throws `VERIFICATION_FAILED` for what is no certificate. */
export function revocationAddresses(certificate: Uint8Array, issuer: Uint8Array): RevocationAddresses {
  return guarded(() => readAddresses(certificate, issuer))
}

function readAddresses(certificate: Uint8Array, issuer: Uint8Array): RevocationAddresses {
  const { extensions, pki } = parseCertificate(certificate)
  const { name, key } = issuerIdentity(parseCertificate(issuer))
  const sha1 = (bytes: Uint8Array): Uint8Array => new Uint8Array(createHash('sha1').update(bytes).digest())
  const access = children(contentOf(extensions.get(OID_AUTHORITY_INFO_ACCESS)))
  const points = children(contentOf(extensions.get(OID_CRL_DISTRIBUTION_POINTS)))
  return {
    ocsp: access
      .filter((description) => isOcsp(description))
      .flatMap((description) => urlsIn(children(description)[1])),
    // DistributionPoint ::= SEQUENCE { distributionPoint [0] { fullName [0] GeneralNames, … }, … }
    crl: points.flatMap((point) => children(children(children(point)[0])[0]).flatMap(urlsIn)),
    certId: {
      nameHash: sha1(name),
      keyHash: sha1(key),
      serialNumber: pki.serialNumber.valueBlock.valueHexView.slice(),
    },
  }
}

function contentOf(extension: Extension | undefined): BaseBlock | undefined {
  return extension && decode(extension.extnValue.valueBlock.valueHexView)
}

function isOcsp(description: BaseBlock): boolean {
  const method = children(description)[0]
  return method instanceof ObjectIdentifier && method.valueBlock.toString() === OID_OCSP
}

/** uniformResourceIdentifier [6] IMPLICIT IA5String. */
function urlsIn(name: BaseBlock | undefined): readonly string[] {
  if (name === undefined || name.idBlock.tagClass !== 3 || name.idBlock.tagNumber !== 6) return []
  const text = Buffer.from((name as OctetString).valueBlock.valueHexView).toString('latin1')
  return /^https?:\/\/[\x21-\x7e]{1,1000}$/i.test(text) && URL.canParse(text) ? [text] : []
}

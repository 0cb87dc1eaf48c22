import { digest } from '#certificate-crypto'
import { ObjectIdentifier, Primitive, type BaseBlock } from 'asn1js'
import { childrenOf, parseAsn1, withParserErrors } from './asn1.ts'
import { parseCertificate, type CertificateExtension } from './certificate.ts'
import { issuerIdentity } from './statement.ts'

const OID_AUTHORITY_INFO_ACCESS = '1.3.6.1.5.5.7.1.1'
const OID_CRL_DISTRIBUTION_POINTS = '2.5.29.31'
const OID_OCSP = '1.3.6.1.5.5.7.48.1'

/**
 * Where a certificate's revocation status can be requested. The issuer chose the http(s) addresses: a caller that
 * requests them must decide which hosts it allows.
 */
export interface RevocationAddresses {
  readonly ocsp: readonly string[]
  readonly crl: readonly string[]
  /**
   * CertID of the OCSP request (RFC 6960 § 4.1.1). The hashes are SHA-1, which every responder supports. They only
   * identify the issuer; no security depends on them.
   */
  readonly certId: { readonly nameHash: Uint8Array; readonly keyHash: Uint8Array; readonly serialNumber: Uint8Array }
}

/**
 * Reads the addresses for OCSP (RFC 5280 § 4.2.2.1) and CRLs (§ 4.2.1.13) from a certificate.
 *
 * @param certificate DER.
 * @param issuer DER of the certificate that issued it.
 * @throws `VERIFICATION_FAILED` if either is not a certificate.
 */
export function revocationAddresses(certificate: Uint8Array, issuer: Uint8Array): RevocationAddresses {
  return withParserErrors('The certificate', () => readAddresses(certificate, issuer))
}

function readAddresses(certificate: Uint8Array, issuer: Uint8Array): RevocationAddresses {
  const { extensions, pki } = parseCertificate(certificate)
  const { name, key } = issuerIdentity(parseCertificate(issuer))
  const descriptions = childrenOf(contentOf(extensions.get(OID_AUTHORITY_INFO_ACCESS)))
  const points = childrenOf(contentOf(extensions.get(OID_CRL_DISTRIBUTION_POINTS)))
  return {
    ocsp: descriptions.filter(isOcsp).flatMap((description) => urlsIn(childrenOf(description)[1])),
    // DistributionPoint ::= SEQUENCE { distributionPoint [0] { fullName [0] GeneralNames, … }, … }
    crl: points.flatMap((point) => childrenOf(childrenOf(childrenOf(point)[0])[0]).flatMap(urlsIn)),
    certId: {
      nameHash: digest('sha1', name),
      keyHash: digest('sha1', key),
      serialNumber: pki.serialNumber.valueBlock.valueHexView.slice(),
    },
  }
}

const contentOf = (extension: CertificateExtension | undefined): BaseBlock | undefined =>
  extension && parseAsn1(extension.der, 'An extension')

function isOcsp(description: BaseBlock): boolean {
  const [method] = childrenOf(description)
  return method instanceof ObjectIdentifier && method.valueBlock.toString() === OID_OCSP
}

/** GeneralName ::= CHOICE { …, uniformResourceIdentifier [6] IMPLICIT IA5String, … } */
function urlsIn(name: BaseBlock | undefined): readonly string[] {
  if (name === undefined || name.idBlock.tagClass !== 3 || name.idBlock.tagNumber !== 6) return []
  const text = name instanceof Primitive ? new TextDecoder('latin1').decode(name.valueBlock.valueHexView) : ''
  return /^https?:\/\/[\x21-\x7e]{1,1000}$/i.test(text) && URL.canParse(text) ? [text] : []
}

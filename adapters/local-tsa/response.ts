import { sign, type KeyObject } from 'node:crypto'
import { sha256 } from '../kit/index.ts'
import { ECDSA_WITH_SHA256 } from './certificates.ts'
import {
  constructed,
  generalizedTime,
  implicitSetOf,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  smallInteger,
} from '../der.ts'

/** Under 2.999, the arc for examples (X.660 § 7.3 note): a policy without any promises. */
export const LOCAL_POLICY = '2.999.3161.1'

const OID_SIGNED_DATA = objectIdentifier('1.2.840.113549.1.7.2')
const OID_TST_INFO = objectIdentifier('1.2.840.113549.1.9.16.1.4')
const OID_CONTENT_TYPE = objectIdentifier('1.2.840.113549.1.9.3')
const OID_MESSAGE_DIGEST = objectIdentifier('1.2.840.113549.1.9.4')
const OID_SIGNING_CERTIFICATE_V2 = objectIdentifier('1.2.840.113549.1.9.16.2.47')
/** No parameters (RFC 5754 § 2). */
const SHA256 = sequence(objectIdentifier('2.16.840.1.101.3.4.2.1'))

/** The key and certificate that sign a token. */
export interface Signer {
  readonly key: KeyObject
  /** DER. */
  readonly certificate: Uint8Array
  /** DER of the issuer's name, as in the certificate. */
  readonly issuerName: Uint8Array
  /** The certificate's serial number, unsigned, big-endian. */
  readonly serialNumber: Uint8Array
}

/** The content of a token. */
interface Claim {
  /** SHA-256 of the stamped bytes. */
  readonly digest: Uint8Array
  /** ms since 1970. */
  readonly genTime: number
  /** Unsigned, big-endian. */
  readonly serialNumber: Uint8Array
  /** Unsigned, big-endian. */
  readonly nonce: Uint8Array
}

/** DER of a granted TimeStampResp (RFC 3161 § 2.4.2), which contains the signer's certificate and an ESSCertIDv2. */
export function timeStampResponse(signer: Signer, claim: Claim): Uint8Array {
  const granted = sequence(smallInteger(0))
  return sequence(granted, sequence(OID_SIGNED_DATA, constructed(0, signedData(signer, tstInfo(claim)))))
}

/** Without an accuracy, because nothing can be promised about the operator's clock. */
function tstInfo({ digest, genTime, serialNumber, nonce }: Claim): Uint8Array {
  return sequence(
    smallInteger(1),
    objectIdentifier(LOCAL_POLICY),
    sequence(SHA256, octetString(digest)),
    integer(serialNumber),
    generalizedTime(genTime),
    integer(nonce),
  )
}

/** RFC 5652 § 5.1; version 3, because the content is not plain data. */
function signedData(signer: Signer, content: Uint8Array): Uint8Array {
  return sequence(
    smallInteger(3),
    setOf(SHA256),
    sequence(OID_TST_INFO, constructed(0, octetString(content))),
    constructed(0, signer.certificate),
    setOf(signerInfo(signer, content)),
  )
}

function signerInfo(signer: Signer, content: Uint8Array): Uint8Array {
  // SHA-256 is the default of ESSCertIDv2, so it contains only the hash (RFC 5035 § 4).
  const certificateId = sequence(octetString(sha256(signer.certificate)))
  const attributes = [
    attribute(OID_CONTENT_TYPE, OID_TST_INFO),
    attribute(OID_MESSAGE_DIGEST, octetString(sha256(content))),
    attribute(OID_SIGNING_CERTIFICATE_V2, sequence(sequence(certificateId))),
  ]
  return sequence(
    smallInteger(1),
    sequence(signer.issuerName, integer(signer.serialNumber)),
    SHA256,
    implicitSetOf(0, ...attributes),
    ECDSA_WITH_SHA256,
    // The signature covers the tag of a SET, not the [0] of the structure (RFC 5652 § 5.4).
    octetString(sign('sha256', setOf(...attributes), signer.key)),
  )
}

const attribute = (type: Uint8Array, value: Uint8Array): Uint8Array => sequence(type, setOf(value))

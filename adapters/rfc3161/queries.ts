import { boolean, integer, objectIdentifier, octetString, sequence, smallInteger } from '../der.ts'
import type { RevocationAddresses } from '../../core/verify/tokens/revocation-addresses.ts'

/** Hash algorithm of a request's imprint. */
export type ImprintHash = 'sha256' | 'sha384' | 'sha512'
export const IMPRINT_HASHES: readonly ImprintHash[] = ['sha256', 'sha384', 'sha512']

const HASH_OIDS: Readonly<Record<ImprintHash | 'sha1', string>> = {
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
}

/** With NULL parameters, because some authorities reject an identifier without parameters. */
const hashIdentifier = (name: keyof typeof HASH_OIDS): Uint8Array =>
  sequence(objectIdentifier(HASH_OIDS[name]), Uint8Array.of(0x05, 0x00))

interface TimestampQuery {
  readonly hash: ImprintHash
  readonly digest: Uint8Array
  /** Unsigned, big-endian. */
  readonly nonce: Uint8Array
  /** Dotted OID. Default: the authority chooses. */
  readonly policy?: string | undefined
}

/** DER of a TimeStampReq (RFC 3161 § 2.4.1) that requests the signer's certificate. */
export const timestampQuery = ({ hash, digest, nonce, policy }: TimestampQuery): Uint8Array =>
  sequence(
    smallInteger(1),
    sequence(hashIdentifier(hash), octetString(digest)),
    ...(policy === undefined ? [] : [objectIdentifier(policy)]),
    integer(nonce),
    boolean(true),
  )

/**
 * DER of an OCSPRequest (RFC 6960 § 4.1.1) for one certificate, unsigned and without a nonce, so that the response can
 * come from a cache.
 */
export function ocspQuery({ nameHash, keyHash, serialNumber }: RevocationAddresses['certId']): Uint8Array {
  const certId = sequence(hashIdentifier('sha1'), octetString(nameHash), octetString(keyHash), integer(serialNumber))
  const request = sequence(certId)
  return sequence(sequence(sequence(request)))
}

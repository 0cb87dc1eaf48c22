import { createHash, createPublicKey, randomBytes, sign, verify, type KeyObject, X509Certificate } from 'node:crypto'
import { LOCAL_TEST_NOTICE } from '../../core/verify/token-verifier.ts'
import { EARLIEST_TIME } from '../kit/index.ts'
import {
  bitString,
  boolean,
  certificateTime,
  constructed,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  smallInteger,
  utf8String,
} from '../der.ts'

/**
 * The same for all certificates: a clock that is wrong at the first start must not end their use once it is right. The
 * end is that of certificates without one (RFC 5280 § 4.1.2.5).
 */
const NOT_BEFORE = EARLIEST_TIME
const NOT_AFTER = Date.UTC(9999, 11, 31, 23, 59, 59)

/** ecdsa-with-SHA256 (RFC 5758 § 3.2): no parameters. */
export const ECDSA_WITH_SHA256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'))

const spki = (publicKey: KeyObject): Uint8Array => publicKey.export({ type: 'spki', format: 'der' })

/** 160 bits of the SHA-256 of the public key info (RFC 7093 § 2). */
const keyIdentifier = (publicKey: KeyObject): Buffer =>
  createHash('sha256').update(spki(publicKey)).digest().subarray(0, 20)

/** Whether a private key is that of a certificate. `checkPrivateKey` compares only the public part of its file. */
export function isKeyOf({ publicKey }: X509Certificate, key: KeyObject): boolean {
  const probe = Buffer.from('probe')
  try {
    return verify('sha256', probe, publicKey, sign('sha256', probe, key))
  } catch {
    return false
  }
}

/** The name contains digits of the key, so that the certificates of two registries differ. */
function distinguishedName(role: 'CA' | 'TSA', publicKey: KeyObject): Uint8Array {
  const commonName = `${LOCAL_TEST_NOTICE} (${role} ${keyIdentifier(publicKey).toString('hex', 0, 4)})`
  return sequence(setOf(sequence(objectIdentifier('2.5.4.3'), utf8String(commonName))))
}

/** DER of the CA's distinguished name. */
export const authorityName = (authorityKey: KeyObject): Uint8Array =>
  distinguishedName('CA', createPublicKey(authorityKey))

function extension(oid: string, critical: boolean, value: Uint8Array): Uint8Array {
  return sequence(objectIdentifier(oid), ...(critical ? [boolean(true)] : []), octetString(value))
}

const subjectKeyIdentifier = (publicKey: KeyObject): Uint8Array =>
  extension('2.5.29.14', false, octetString(keyIdentifier(publicKey)))

/** A self-signed CA certificate for a P-256 private key. DER. */
export function issueAuthority(authorityKey: KeyObject): Uint8Array {
  const publicKey = createPublicKey(authorityKey)
  return certificate(authorityKey, {
    subject: distinguishedName('CA', publicKey),
    publicKey,
    extensions: [
      // Path length 0, because it issues signers only.
      extension('2.5.29.19', true, sequence(boolean(true), smallInteger(0))),
      // keyCertSign and cRLSign.
      extension('2.5.29.15', true, bitString(Uint8Array.of(0x06), 1)),
      subjectKeyIdentifier(publicKey),
    ],
  })
}

/** A timestamping certificate (RFC 3161 § 2.3). DER. */
export function issueSigner(authorityKey: KeyObject, publicKey: KeyObject): Uint8Array {
  return certificate(authorityKey, {
    subject: distinguishedName('TSA', publicKey),
    publicKey,
    extensions: [
      // digitalSignature.
      extension('2.5.29.15', true, bitString(Uint8Array.of(0x80), 7)),
      // timeStamping, critical and as the only purpose.
      extension('2.5.29.37', true, sequence(objectIdentifier('1.3.6.1.5.5.7.3.8'))),
      subjectKeyIdentifier(publicKey),
      extension('2.5.29.35', false, sequence(implicit(0, keyIdentifier(createPublicKey(authorityKey))))),
    ],
  })
}

interface Terms {
  readonly subject: Uint8Array
  readonly publicKey: KeyObject
  readonly extensions: readonly Uint8Array[]
}

/** RFC 5280 § 4.1, version 3. */
function certificate(authorityKey: KeyObject, terms: Terms): Uint8Array {
  const toBeSigned = sequence(
    constructed(0, smallInteger(2)),
    integer(randomBytes(16)),
    ECDSA_WITH_SHA256,
    authorityName(authorityKey),
    sequence(certificateTime(NOT_BEFORE), certificateTime(NOT_AFTER)),
    terms.subject,
    spki(terms.publicKey),
    constructed(3, sequence(...terms.extensions)),
  )
  return sequence(toBeSigned, ECDSA_WITH_SHA256, bitString(sign('sha256', toBeSigned, authorityKey)))
}

/** PEM text of a DER certificate (RFC 7468). */
export const certificateToPem = (der: Uint8Array): string => new X509Certificate(der).toString()

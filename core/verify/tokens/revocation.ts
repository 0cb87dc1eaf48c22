import type { ValidationData } from '../../ports/index.ts'
import { parseCertificate } from './certificate.ts'
import type { RevocationStatus } from '../token-verifier.ts'
import { SignatureBudget } from '../untrusted.ts'
import { knownStatuses, worstOf } from './validation-data.ts'

/**
 * Reads the revocation status of a certificate from stored CRLs (RFC 5280 § 5) and OCSP responses (RFC 6960), offline.
 *
 * A piece that is malformed, too large, about another certificate or not signed by the issuer (for OCSP: or by a
 * responder that the issuer authorised) is ignored. If any piece says revoked, the
 * certificate is revoked: of several revocations one that may be a compromise counts first, then the earliest. Else the
 * newest piece counts: none that was to be replaced (nextUpdate) before `at`, and none that was made after the
 * certificate had expired, unless it says that it keeps such certificates.
 *
 * @param certificate DER.
 * @param issuer DER of the certificate that issued it.
 * @param validationData Pieces of the type `certificate` are ignored.
 * @param at When the certificate was used, ms since 1970. Default: at any time.
 * @throws `VERIFICATION_FAILED` if `certificate` or `issuer` is not a certificate.
 */
export const revocationStatus = (
  certificate: Uint8Array,
  issuer: Uint8Array,
  validationData: readonly ValidationData[],
  at = -Infinity,
): RevocationStatus =>
  worstOf(
    knownStatuses(
      { certificate: parseCertificate(certificate), issuer: parseCertificate(issuer), budget: new SignatureBudget() },
      validationData,
    ),
    at,
  )

import { encodeUtf8, equalBytes, fromBase64, toHex } from '../bytes.ts'
import type { ValidationData } from '../ports/index.ts'
import { verifyTimestamp } from './timestamp.ts'
import { asArray, asObject, asString, asTime, isObject, verificationError, type UntrustedObject } from './untrusted.ts'

/** The timestamp tokens of a proof document. */

interface ShownTokens {
  /** The member `tsa`: the token whose time the document shows. */
  readonly shown: UntrustedObject
  /** The member `tsas`: the tokens of all authorities. */
  readonly all: unknown
  /** As in `VerifyProofOptions`. */
  readonly trustAnchors: readonly Uint8Array[]
  readonly authorities: readonly (readonly Uint8Array[])[]
  readonly quorum: number
}

/**
 * Verifies the shown token, and that a quorum of authorities stamped by its time. Another token that is invalid does
 * not count. Throws `VERIFICATION_FAILED`.
 */
export function verifyTokens({ shown, all, trustAnchors, authorities, quorum }: ShownTokens): void {
  const { genTime, bytes } = decodeToken(shown)
  verifyToken(shown, trustAnchors)
  const tokens = asArray(all, 'tsas').slice(0, MAX_TOKENS).filter(isObject)
  const counted = tokens.filter((token) => hasSameCheckpoint(token, shown) && isStampedBy(token, genTime))
  if (!counted.some((token) => equalBytes(decodeToken(token).bytes, bytes)))
    throw verificationError('tsas does not contain the token of tsa')
  const stamping = authorities.filter((anchors) => counted.some((token) => passes(() => verifyToken(token, anchors))))
  if (stamping.length < quorum)
    throw verificationError(`Expected ${quorum} trusted authorities to have stamped by then, got ${stamping.length}`)
}

/** Tokens that are verified in one document. Each costs a few signature checks. */
const MAX_TOKENS = 32

function passes(check: () => void): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

/** The checkpoint of `tsa` is verified in its own step. This makes it hold for the other token as well. */
const hasSameCheckpoint = (token: UntrustedObject, tsa: UntrustedObject): boolean =>
  token['checkpoint'] === tsa['checkpoint'] &&
  token['treeSize'] === tsa['treeSize'] &&
  JSON.stringify(token['consistency']) === JSON.stringify(tsa['consistency'])

const isStampedBy = (token: UntrustedObject, time: number): boolean =>
  passes(() => {
    if (decodeToken(token).genTime > time) throw verificationError('The token is later')
  })

/** The bytes and the time (ms since 1970) that a token is shown with. Throws `VERIFICATION_FAILED`. */
export function decodeToken(tsa: UntrustedObject): { readonly bytes: Uint8Array; readonly genTime: number } {
  const bytes = fromBase64(asString(tsa['token'], 'token'))
  if (bytes === undefined) throw verificationError('The token is not base64')
  return { bytes, genTime: asTime(tsa['genTime'], 'genTime') }
}

/** Throws unless the token verifies under these anchors and states what is shown. */
function verifyToken(tsa: UntrustedObject, trustAnchors: readonly Uint8Array[]): void {
  const data = encodeUtf8(asString(tsa['checkpoint'], 'checkpoint'))
  const validationData = validationDataOf(tsa)
  const info = verifyTimestamp(decodeToken(tsa).bytes, { data, trustAnchors, validationData })
  const stated = {
    genTime: new Date(info.genTime).toISOString(),
    serialNumber: info.serialNumber,
    policy: info.policy,
    hashAlgorithm: info.hashAlgorithm,
    imprint: toHex(info.imprint),
  }
  for (const [name, value] of Object.entries(stated))
    if (tsa[name] !== value) throw verificationError(`${name} is not the value in the token`)
}

/** The document calls it `evidence`. */
function validationDataOf(tsa: UntrustedObject): readonly ValidationData[] {
  const pieces = asArray(tsa['evidence'] ?? [], 'evidence')
  if (pieces.length > MAX_VALIDATION_DATA)
    throw verificationError(`The evidence of the token has more than ${MAX_VALIDATION_DATA} pieces`)
  return pieces.map((piece) => {
    const { type, data } = asObject(piece, "A piece of the token's evidence")
    const der = fromBase64(asString(data, "The data of the token's evidence"))
    if (der === undefined || (type !== 'certificate' && type !== 'crl' && type !== 'ocsp'))
      throw verificationError("A piece of the token's evidence must be a certificate, crl or ocsp in base64")
    return { type, der }
  })
}

const MAX_VALIDATION_DATA = 32

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FileToken } from '../../api/files.ts'
import type { CompanyId, FileId } from '../../api/ids.ts'
import { concatBytes, encodeUtf8, readU64, u64 } from '../../bytes.ts'
import type { Clock } from '../../ports/index.ts'

/**
 * A token is base64url of: expiry as u64 (ms since 1970) ‖ file id (36 bytes ASCII) ‖ HMAC-SHA-256 of company and both.
 */
const CLAIM_BYTES = 8 + 36
const TOKEN_BYTES = CLAIM_BYTES + 32
const LIFETIME_MS = 5 * 60 * 1_000

/** Makes and checks file tokens. Nothing is stored. */
export class FileTokens {
  readonly #key: Uint8Array
  readonly #clock: Clock

  constructor(key: Uint8Array, clock: Clock) {
    this.#key = key
    this.#clock = clock
  }

  create(companyId: CompanyId, fileId: FileId): FileToken {
    const expires = this.#clock.now() + LIFETIME_MS
    const claim = concatBytes(u64(expires), encodeUtf8(fileId))
    const token = Buffer.concat([claim, this.#mac(companyId, claim)]).toString('base64url')
    return { token, expiresAt: new Date(expires) }
  }

  /** The file that a token opens in this company, `undefined` if it opens none. */
  fileOf(companyId: string, token: string): FileId | undefined {
    const bytes = new Uint8Array(Buffer.from(token, 'base64url'))
    // The decoder skips unknown characters. Comparing the text makes sure that a token has only one spelling.
    if (bytes.length !== TOKEN_BYTES || Buffer.from(bytes).toString('base64url') !== token) return undefined
    const claim = bytes.subarray(0, CLAIM_BYTES)
    if (!timingSafeEqual(this.#mac(companyId, claim), bytes.subarray(CLAIM_BYTES))) return undefined
    if (readU64(claim) <= this.#clock.now()) return undefined
    return Buffer.from(claim.subarray(8)).toString('utf8') as FileId
  }

  #mac(companyId: string, claim: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#key).update(`${companyId}\0`).update(claim).digest()
  }
}

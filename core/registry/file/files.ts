import type { Files, FileToken } from '../../api/files.ts'
import type { CompanyId, FileId } from '../../api/scope.ts'
import { assertTexts } from '../company/api-keys.ts'
import { assertCompany, enterCompany, authorizeFile } from '../permissions.ts'
import type { Context } from '../context.ts'
import { uuidInput, validate } from '../../schemas/validation.ts'
import { IdInput } from '../../schemas/fields.ts'
import { deleteFile } from './delete.ts'
import { findFile } from './find.ts'
import { readFile } from './read.ts'
import { discardUpload, stageFile } from './stage.ts'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { concatBytes, encodeUtf8, readU64, u64 } from '../../bytes.ts'
import type { Clock } from '../../ports/index.ts'

export const fileOperations = (context: Context, tokens: FileTokens): Files => ({
  stage: async (scope, file, options) => {
    await enterCompany(context, scope, 'I')
    return stageFile(context, file, options)
  },
  discard: async (files) => {
    for (const { id, intent } of files) if (intent !== undefined) await discardUpload(context, { id, intent })
  },
  find: async (scope, selector) => {
    const authorized = authorizeFile(scope, selector.fileId)
    await assertCompany(context, authorized)
    return findFile(context, authorized, selector)
  },
  read: (file, options) => readFile(context, file, options),
  delete: async (scope, selector) => deleteFile(context, await enterCompany(context, scope, 'U'), selector),
  createToken: async (scope, fileId) => {
    const authorized = await enterCompany(context, scope, 'R')
    const selected = uuidInput(validate(IdInput, fileId, 'fileId'))
    const { id } = await findFile(context, authorized, { fileId: selected })
    const { companyId, actor } = authorized
    context.auditLog.note({ companyId, type: 'fileToken', actor, fileId: id })
    return tokens.create(companyId, id)
  },
  authenticateToken: (credentials) => {
    assertTexts(credentials, 'companyId', 'token')
    const fileId = tokens.fileOf(credentials.companyId, credentials.token)
    // The HMAC covers the company, so the token belongs to it.
    return fileId && { kind: 'fileToken', companyId: credentials.companyId as CompanyId, fileId }
  },
})

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

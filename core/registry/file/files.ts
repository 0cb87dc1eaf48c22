import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Files, FileToken } from '../../api/files.ts'
import type { CompanyId, FileId, Principal } from '../../api/scope.ts'
import { concatBytes, encodeUtf8, readU64, u64 } from '../../bytes.ts'
import type { Clock } from '../../ports/index.ts'
import { CompanyId as CompanyIdSchema, FileId as FileIdSchema, IdInput } from '../../schemas/fields.ts'
import { uuidInput, validate } from '../../schemas/validation.ts'
import { assertTexts } from '../company/api-keys.ts'
import type { AuditLog } from '../company/audit.ts'
import type { Context } from '../context.ts'
import { enterCompany } from '../permissions.ts'
import { deleteFile } from './delete.ts'
import { fileInfo, findFile } from './find.ts'
import { type Damage, readFile } from './read.ts'
import { discardFiles, stageFile, type StagingOptions } from './stage.ts'

interface FileParts extends StagingOptions {
  readonly tokens: FileTokens
  readonly auditLog: AuditLog
  readonly damage: Damage
}

/** The operations on files. Their contract is `Files`. */
export const fileOperations = (context: Context, { tokens, auditLog, damage, ...staging }: FileParts): Files => ({
  stage: stageFile(context, staging),
  discard: discardFiles(context),
  find: findFile(context),
  read: readFile(context, damage),
  delete: deleteFile(context),
  createToken: async (scope, fileId) => {
    const { companyId, actor } = await enterCompany(context, scope, 'R')
    const { id } = await fileInfo(context, companyId, { fileId: uuidInput(validate(IdInput, fileId, 'fileId')) })
    auditLog.note({ companyId, type: 'fileToken', actor, fileId: id })
    return tokens.create(companyId, id)
  },
  authenticateToken: (credentials) => {
    assertTexts(credentials, 'companyId', 'token')
    return tokens.principalOf(credentials.companyId, credentials.token)
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

  /** Whom a token of this company makes its holder, `undefined` if it opens nothing. */
  principalOf(companyId: string, token: string): Principal | undefined {
    const bytes = new Uint8Array(Buffer.from(token, 'base64url'))
    // The decoder skips unknown characters. Comparing the text makes sure that a token has only one spelling.
    if (bytes.length !== TOKEN_BYTES || Buffer.from(bytes).toString('base64url') !== token) return undefined
    const claim = bytes.subarray(0, CLAIM_BYTES)
    if (!timingSafeEqual(this.#mac(companyId, claim), bytes.subarray(CLAIM_BYTES))) return undefined
    if (readU64(claim) <= this.#clock.now()) return undefined
    // The HMAC covers the company and the file, so both are what `create` was given.
    return {
      kind: 'fileToken',
      companyId: validate(CompanyIdSchema, companyId),
      fileId: validate(FileIdSchema, Buffer.from(claim.subarray(8)).toString('utf8')),
    }
  }

  #mac(companyId: string, claim: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#key).update(`${companyId}\0`).update(claim).digest()
  }
}

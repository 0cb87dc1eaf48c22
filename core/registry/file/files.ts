import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Files, FileToken } from '../../api/files.ts'
import type { CompanyId, FileId, Principal } from '../../api/scope.ts'
import { concatBytes, encodeUtf8, readU64, u64 } from '../../bytes.ts'
import type { Clock, RecordStore } from '../../ports/index.ts'
import { CLOCK_TOLERANCE_MS } from '../../clock.ts'
import { RegistryError } from '../../errors.ts'
import { CompanyId as CompanyIdSchema, FileId as FileIdSchema, IdInput } from '../../schemas/fields.ts'
import { uuidInput, validate } from '../../schemas/validation.ts'
import { keys } from '../../store/keys.ts'
import { decodeRecord } from '../../store/codec.ts'
import { readAll } from '../../store/read.ts'
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
    return tokens.create(companyId, id, actor)
  },
  authenticateToken: async (credentials) => {
    assertTexts(credentials, 'companyId', 'token')
    return tokens.principalOf(credentials)
  },
})

/**
 * A token is base64url of: expiry as u64 (ms since 1970) ‖ file id (36 bytes ASCII) ‖ who made it (id of a source
 * system, or `operator`) ‖ HMAC-SHA-256 of company, key of the maker, and all of that.
 */
const FILE_AT = 8
const MAKER_AT = FILE_AT + 36
const MAC_BYTES = 32
const LIFETIME_MS = 5 * 60 * 1_000

/** Makes and checks file tokens. Nothing is stored: a token is bound to the key that its maker has at the time. */
export class FileTokens {
  readonly #key: Uint8Array
  readonly #clock: Clock
  readonly #records: RecordStore

  constructor(key: Uint8Array, clock: Clock, records: RecordStore) {
    this.#key = key
    this.#clock = clock
    this.#records = records
  }

  async create(companyId: CompanyId, fileId: FileId, maker: string): Promise<FileToken> {
    const expires = this.#clock.now() + LIFETIME_MS
    const claim = concatBytes(u64(expires), encodeUtf8(fileId + maker))
    const [keyMac] = await this.#workingKeys(companyId, maker)
    if (keyMac === undefined)
      throw new RegistryError('FORBIDDEN', 'The key of this source system does not work any more')
    const token = Buffer.concat([claim, this.#mac(companyId, keyMac, claim)]).toString('base64url')
    return { token, expiresAt: new Date(expires) }
  }

  /** See `Files.authenticateToken`. */
  async principalOf({
    companyId,
    token,
    hasBegun = false,
  }: Parameters<Files['authenticateToken']>[0]): Promise<Principal | undefined> {
    const bytes = new Uint8Array(Buffer.from(token, 'base64url'))
    const claim = bytes.subarray(0, -MAC_BYTES)
    // The decoder skips unknown characters. Comparing the text makes sure that a token has only one spelling.
    if (claim.length <= MAKER_AT || Buffer.from(bytes).toString('base64url') !== token) return undefined
    const text = Buffer.from(claim).toString('latin1')
    const working = await this.#workingKeys(companyId, text.slice(MAKER_AT))
    const given = bytes.subarray(-MAC_BYTES)
    if (!working.some((keyMac) => timingSafeEqual(this.#mac(companyId, keyMac, claim), given))) return undefined
    const leftMs = readU64(claim) - this.#clock.now()
    // One from a clock that was ahead has no longer life.
    if ((leftMs <= 0 && !hasBegun) || leftMs > LIFETIME_MS + CLOCK_TOLERANCE_MS) return undefined
    // The HMAC covers the company and the file, so both are what `create` was given.
    return {
      kind: 'fileToken',
      companyId: validate(CompanyIdSchema, companyId),
      fileId: validate(FileIdSchema, text.slice(FILE_AT, MAKER_AT)),
    }
  }

  /** The HMACs of the keys of a source system, or of the operator, that work now, the current one first. */
  async #workingKeys(companyId: string, maker: string): Promise<readonly string[]> {
    const now = this.#clock.now()
    const [system, operator] = await readAll(this.#records, [keys.sourceSystem(companyId, maker), keys.operator()])
    // A program that embeds the registry can act as the operator without a key.
    if (maker === 'operator') return [operator === undefined ? NO_KEY : decodeRecord(operator).mac]
    if (system === undefined) return []
    const { active, expiresAt = Infinity, mac, replacedKeys = [] } = decodeRecord(system)
    if (!active || expiresAt <= now) return []
    return [mac, ...replacedKeys.filter(({ endsAt }) => endsAt > now).map((replaced) => replaced.mac)]
  }

  #mac(companyId: string, keyMac: string, claim: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#key).update(`${companyId}\0${keyMac}\0`).update(claim).digest()
  }
}

const NO_KEY = 'none'

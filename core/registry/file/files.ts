import { createHmac, timingSafeEqual } from 'node:crypto'
import Type from 'typebox'
import { concatBytes, encodeUtf8, readU64, u64 } from '../../bytes.ts'
import { RegistryError } from '../../errors.ts'
import { isId } from '../../ids.ts'
import { keys } from '../../store/keys.ts'
import { actorOf } from '../permissions.ts'
import type { BlobRange, Entry } from '../../ports.ts'
import type { FileInfo, Files, FileToStage, Scope, StagedFile } from '../../api/registry.ts'
import { closed, FileSelector, Line, type FileEntry, type FileToken } from '../schemas.ts'
import { validate } from '../validation.ts'
import { cancelUpload, destroy, pendingDeletion, beginUpload } from '../../store/blob-lifecycle.ts'
import { VerifiedBody } from './verified-body.ts'
import {
  assertCompany,
  lastPart,
  listAll,
  mustRead,
  put,
  read,
  rfc3339,
  write,
  type Context,
  type Read,
} from '../context.ts'
import { eraseFile, eventWrites, makeEvent } from '../event/event.ts'
import {
  decodeRecord,
  type CategoryRecord,
  type DeletedFileRecord,
  type EventRecord,
  type EvidenceRecord,
  type FileRecord,
} from '../../store/records.ts'

/** What a client says of a file beside its name; the name is mended, these are refused. */
const StagedTexts = closed({
  mimeType: Type.String({ pattern: '^[\\x20-\\x7e]{1,255}$', description: '1 to 255 printable ASCII characters' }),
  title: Type.Optional(Line),
})

const TOKEN_MS = 5 * 60 * 1_000
const MAX_NAME = 256

export class RegistryFiles implements Files {
  readonly #context: Context
  readonly #tokenKey: Uint8Array

  constructor(context: Context, tokenKey: Uint8Array) {
    this.#context = context
    this.#tokenKey = tokenKey
  }

  async stage(
    scope: Scope,
    { name, mimeType, title, body }: FileToStage,
    { maxBytes, signal }: { readonly maxBytes: number; readonly signal?: AbortSignal },
  ): Promise<StagedFile> {
    const context = this.#context
    await assertCompany(context, scope)
    validate(StagedTexts, { mimeType, ...(title !== undefined && { title }) })
    const id = context.ids.next()
    const intent = await beginUpload(context, id)
    try {
      const { size, sha256 } = await context.blobs.put(id, body, { maxBytes, ...(signal && { signal }) })
      const shown = displayName(name)
      return {
        id,
        name: shown,
        mimeType,
        title: title ?? titleOf(shown),
        size,
        sha256: Buffer.from(sha256).toString('hex'),
        intent,
      }
    } catch (error) {
      // The sweep does it later where this fails too; the first error is what the caller must see.
      await cancelUpload(context, id, intent).catch((err: unknown) =>
        context.logger.warn({ err, file: id }, 'a failed upload is left to the sweep'),
      )
      throw error
    }
  }

  async discard(files: readonly StagedFile[]): Promise<void> {
    for (const { id, intent } of files) {
      await cancelUpload(this.#context, id, intent).catch((err: unknown) =>
        this.#context.logger.warn({ err, file: id }, 'an unused upload is left to the sweep'),
      )
    }
  }

  async find(scope: Scope, selector: FileSelector): Promise<FileInfo> {
    await assertCompany(this.#context, scope)
    return (await this.#select(scope, selector)).record
  }

  async read(file: FileInfo, range?: BlobRange, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const blob = await this.#context.blobs.get(file.id, range, signal)
    if (blob === undefined) throw fileNotFound()
    if (blob.size === file.size) return range === undefined ? new VerifiedBody(blob.body, file) : blob.body
    // A body that nobody reads must be let go, or it keeps its file open.
    await blob.body[Symbol.asyncIterator]().return?.()
    throw new RegistryError('CORRUPT', `The stored bytes of file ${file.id} do not have the recorded size`)
  }

  async delete(scope: Scope, selector: FileSelector): Promise<void> {
    const context = this.#context
    let fileId = ''
    await write(context, scope, {}, async ({ now }) => {
      const file = await this.#select(scope, selector)
      fileId = file.record.id
      const commit =
        file.record.ownerKind === 'evidence'
          ? await deleteOfEvidence(context, scope, file, now)
          : await deleteImage(context, scope, file)
      return { commit, answer: null }
    })
    await destroy(context, fileId)
  }

  async createToken(scope: Scope, fileId: string): Promise<FileToken> {
    await this.find(scope, { fileId })
    const expires = this.#context.clock.now() + TOKEN_MS
    const claim = concatBytes(u64(expires), encodeUtf8(fileId))
    const token = Buffer.concat([claim, this.#tokenMac(scope.companyId, claim)]).toString('base64url')
    return { token, expiresAt: rfc3339(expires) }
  }

  tokenFile(companyId: string, token: string): string | undefined {
    const bytes = new Uint8Array(Buffer.from(token, 'base64url'))
    // The decoder skips what it does not know: one token has one text.
    if (bytes.length !== 8 + 36 + 32 || Buffer.from(bytes).toString('base64url') !== token) return undefined
    const claim = bytes.subarray(0, 44)
    if (!timingSafeEqual(this.#tokenMac(companyId, claim), bytes.subarray(44))) return undefined
    return readU64(claim) > this.#context.clock.now() ? Buffer.from(claim.subarray(8)).toString('utf8') : undefined
  }

  #tokenMac(companyId: string, claim: Uint8Array): Uint8Array {
    return new Uint8Array(createHmac('sha256', this.#tokenKey).update(`${companyId}\0`).update(claim).digest())
  }

  /** The file, where every owner that the selector names is an owner of it. */
  async #select(scope: Scope, selector: FileSelector): Promise<Read<FileRecord>> {
    const { fileId, evidenceId, categoryId, subcategoryId } = validate(FileSelector, selector)
    if (!isId(fileId)) throw fileNotFound()
    const file = await mustRead<FileRecord | DeletedFileRecord>(this.#context, keys.file(fileId), fileNotFound)
    if (file.record.company !== scope.companyId || 'deletion' in file.record) throw fileNotFound()
    const found = file as Read<FileRecord>
    const owners = await this.#ownersOf(scope, found.record)
    const named = { evidenceId, categoryId, subcategoryId }
    for (const [name, value] of Object.entries(named)) {
      if (value !== undefined && value !== owners[name as keyof typeof named]) throw fileNotFound()
    }
    return found
  }

  async #ownersOf(
    { companyId }: Scope,
    file: FileRecord,
  ): Promise<{ evidenceId?: string; categoryId?: string; subcategoryId?: string }> {
    if (file.ownerKind === 'category') return { categoryId: file.ownerId }
    if (file.ownerKind === 'subcategory') {
      const owner = await mustRead<{ categoryId: string }>(
        this.#context,
        keys.subcategory(companyId, file.ownerId),
        fileNotFound,
      )
      return { categoryId: owner.record.categoryId, subcategoryId: file.ownerId }
    }
    const { record } = await mustRead<EvidenceRecord>(this.#context, keys.evidence(file.ownerId), fileNotFound)
    return { evidenceId: record.externalId, categoryId: record.categoryId, subcategoryId: record.subcategoryId }
  }
}

export const fileNotFound = (): RegistryError => new RegistryError('FILE_NOT_FOUND', 'There is no such file here')

/** Appends the deletefile event, and takes name, hash, size and salt out of the event that attached the file. */
async function deleteOfEvidence(context: Context, scope: Scope, file: Read<FileRecord>, now: number) {
  context.assertClock()
  const missing = fileNotFound
  const evidence = await mustRead<EvidenceRecord>(context, keys.evidence(file.record.ownerId), missing)
  const attaching = await mustRead<EventRecord>(context, keys.event(evidence.record.id, file.record.version), missing)
  const { id } = file.record
  const version = evidence.record.lastVersion + 1
  const event = makeEvent({
    origin: context.origin,
    evidenceId: evidence.record.id,
    slotKey: evidence.record.slotKey,
    version,
    time: Math.max(now, evidence.record.lastAt),
    first: evidence.record.txId,
    prev: evidence.record.lastTxId,
    type: 'update',
    updateType: 'deletefile',
    ownerName: evidence.record.owner ?? '',
    fields: {
      action: { type: 'update', updateType: 'deletefile' },
      actor: actorOf(scope.principal),
      company: evidence.record.company,
      evidence: evidence.record.id,
      externalId: evidence.record.externalId,
    },
    files: { [id]: { id, deleted: attaching.record.txId } },
  })
  const { image, ...rest } = evidence.record
  const after: EvidenceRecord = {
    ...rest,
    ...(image !== undefined && image.id !== id && { image }),
    lastVersion: version,
    lastTxId: event.record.txId,
    lastAt: event.record.time,
    changes: { ...rest.changes, update: rest.changes.update + 1 },
    fileCount: rest.fileCount - 1,
  }
  const tombstone: DeletedFileRecord = {
    id,
    company: file.record.company,
    ownerKind: 'evidence',
    ownerId: evidence.record.id,
    version: file.record.version,
    deletion: { version },
  }
  return {
    checks: [file.check, evidence.check, attaching.check],
    writes: [
      put(keys.evidence(after.id), after),
      put(keys.event(after.id, attaching.record.version), eraseFile(attaching.record, id)),
      ...eventWrites(after.id, event),
      put(keys.file(id), tombstone),
      { key: keys.fileOf(after.id, id), value: null },
      pendingDeletion(context, id),
    ],
    append: event.txId,
  }
}

async function deleteImage(context: Context, scope: Scope, file: Read<FileRecord>) {
  const { ownerKind, ownerId, id } = file.record
  const ownerKey =
    ownerKind === 'category' ? keys.category(scope.companyId, ownerId) : keys.subcategory(scope.companyId, ownerId)
  const owner = await mustRead<CategoryRecord>(context, ownerKey, fileNotFound)
  const { imageId: _, ...rest } = owner.record
  return {
    checks: [file.check, owner.check],
    writes: [put(ownerKey, rest), ...imageGone(context, ownerId, id)],
  }
}

/** The writes by which a category's image leaves every list, and its bytes are doomed. */
export const imageGone = (context: Context, ownerId: string, imageId: string) => [
  { key: keys.file(imageId), value: null },
  { key: keys.fileOf(ownerId, imageId), value: null },
  pendingDeletion(context, imageId),
]

/** The writes by which staged files become those of an owner. */
export function fileWrites(
  files: readonly StagedFile[],
  owner: Pick<FileRecord, 'company' | 'ownerKind' | 'ownerId' | 'version'>,
): { readonly key: string; readonly value: Uint8Array }[] {
  return files.flatMap(({ intent: _, ...file }) => [
    put(keys.file(file.id), { ...file, ...owner } satisfies FileRecord) as { key: string; value: Uint8Array },
    { key: keys.fileOf(owner.ownerId, file.id), value: new Uint8Array() },
  ])
}

/** The file entries of an owner, oldest first. */
export async function filesOf(context: Context, ownerId: string): Promise<FileEntry[]> {
  const index = await listAll(context, keys.filesOf(ownerId))
  const entries = await context.records.get(index.map(({ key }) => keys.file(lastPart(key))))
  // A file deleted between the two reads is gone, or only its tombstone is left.
  const files = entries
    .filter((entry): entry is Entry => entry !== undefined)
    .map((entry) => decodeRecord<FileRecord | DeletedFileRecord>(entry.value))
  return files.filter((file): file is FileRecord => !('deletion' in file)).map(fileEntry)
}

const fileEntry = ({ id, name, mimeType, title, version }: FileRecord): FileEntry => ({
  name,
  overlayId: id,
  mimeType,
  title,
  ...(mimeType.startsWith('image/') && { iconId: id }),
  eventId: version,
})

/** The client's file name for display: its last path segment without control characters, or `file` where nothing is left. */
export function displayName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const shown = last.toWellFormed().replace(/\p{Cc}/gu, '')
  const cut = Array.from(shown).slice(0, MAX_NAME).join('')
  return cut === '' || cut === '.' || cut === '..' ? 'file' : cut
}

const titleOf = (name: string): string => name.replace(/(?<=.)\.[^.]*$/, '')

/** Whether a file record is there and not deleted, and whose it is: for the public proofs. */
export const readFile = (context: Context, fileId: string): Promise<Read<FileRecord | DeletedFileRecord> | undefined> =>
  read<FileRecord | DeletedFileRecord>(context, keys.file(fileId))

import type { RecordedEvent } from '../../api/evidence.ts'
import type { DeleteFileOptions, Files } from '../../api/files.ts'
import { RegistryError } from '../../errors.ts'
import type { Check, Commit } from '../../ports/index.ts'
import { destroy } from '../../store/blob-lifecycle.ts'
import { putEvent, readEvent, withFirstEvent } from '../../store/evidence.ts'
import { keys, laterEventKey } from '../../store/keys.ts'
import { danglingReference, requireRecord, type Read } from '../../store/read.ts'
import { putRecord } from '../../store/entries.ts'
import type { DeletedFileRecord, EventRecord, EvidenceRecord, FileRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { appendEvents, type EventAuthor } from '../event/append.ts'
import { eraseParts } from '../event/erase.ts'
import { enterCompany } from '../permissions.ts'
import { assertVersion, type Decision } from '../write.ts'
import { readOwner, selectFile } from './find.ts'
import { countFiles, removeFile } from './stored-file.ts'

/** Deletes a file: a deletefile event, if it belongs to an evidence, then its bytes and what the records had of it. */
export const deleteFile =
  (context: Context): Files['delete'] =>
  async (scope, selector, options = {}) => {
    const { companyId, actor } = await enterCompany(context, scope, 'U')
    const { fileId } = selector
    const events = await context.write(undefined, async (attempt) => {
      const { record, check } = await selectFile(context, companyId, selector)
      assertContent(options, record)
      const request = { ...options, origin: context.origin, hash: context.hash, actor, attempt }
      const { commit, result } =
        record.ownerKind === 'evidence'
          ? await deleteFromEvidence(context, { record, check }, request)
          : { commit: await deleteFromCategory(context, { record, check }, request), result: [] }
      return { commit: context.erasures.include(commit, fileId), result }
    })
    context.erasures.request()
    await destroy(context, fileId, scope.logFields)
    return events
  }

function assertContent({ ifSha256 }: DeleteFileOptions, { sha256 }: FileRecord): void {
  if (ifSha256 === undefined || ifSha256 === sha256) return
  throw new RegistryError('VERSION_CONFLICT', 'ifSha256 is not the hash of this file: read the file again', {
    field: 'ifSha256',
  })
}

/** Who deletes a file, and what they have seen of it. */
type DeleteRequest = EventAuthor & DeleteFileOptions

type FileOf<Kind extends FileRecord['ownerKind']> = Read<Extract<FileRecord, { readonly ownerKind: Kind }>>

async function deleteFromEvidence(
  context: Context,
  file: FileOf<'evidence'>,
  request: DeleteRequest,
): Promise<Deletion> {
  const { records } = context
  const { company, ownerId, version } = file.record
  const evidence = await requireRecord(records, keys.evidence(company, ownerId), () =>
    danglingReference(`File ${file.record.id}`, `evidence ${ownerId}`),
  )
  assertVersion(request, evidence.record.lastVersion, 'the evidence')
  const attaching = await readEvent(records, evidence.record, version)
  return decideDelete(request, { file, evidence, attaching })
}

type Deletion = Decision<readonly RecordedEvent[]>

interface FileToDelete {
  readonly file: Read<FileRecord>
  readonly evidence: Read<EvidenceRecord>
  /** The event that attached the file. */
  readonly attaching: EventRecord
}

/**
 * Appends the deletefile event, and removes name, hash, size and salt from the event that attached the file. Every
 * change of an event also writes the evidence, so the evidence's check covers the attaching event.
 */
function decideDelete(author: EventAuthor, { file, evidence, attaching }: FileToDelete): Deletion {
  const { id, company, version } = file.record
  const { image, ...rest } = evidence.record
  const erased = eraseParts(attaching, { fields: [], files: [id] })
  const before = version === 1 ? withFirstEvent(evidence.record, erased) : evidence.record
  const state = { ...rest, ...(image !== undefined && image.id !== id && { image }), fileCount: rest.fileCount - 1 }
  const {
    checks,
    writes,
    adds,
    append,
    events,
    evidence: after,
  } = appendEvents(author, before, [
    {
      type: 'update',
      updateType: 'deletefile',
      fields: {},
      files: { [id]: { id, deleted: attaching.txId } },
      state,
    },
  ])
  const tombstone: DeletedFileRecord = {
    id,
    company,
    ownerKind: 'evidence',
    ownerId: after.id,
    version,
    deletion: { version: after.lastVersion },
  }
  const changes = [
    ...writes,
    ...(version === 1 ? [] : [putEvent(laterEventKey(company, after.id, version), erased)]),
    ...removeFile(tombstone, id, author.attempt.now, tombstone),
  ]
  return {
    commit: {
      checks: [file.check, evidence.check, ...checks],
      writes: changes,
      adds: [...adds, ...countFiles(file.record, -1)],
      append,
    },
    result: events,
  }
}

async function deleteFromCategory(context: Context, file: FileOf<'category'>, request: DeleteRequest): Promise<Commit> {
  const { company, ownerId, id } = file.record
  const ownerKey = keys.category(company, ownerId)
  const owner = await readOwner(context.records, file)
  const { imageId, ...rest } = owner.record
  assertVersion(request, rest.version, 'the category')
  const image = imageId === undefined || imageId === id ? {} : { imageId }
  const after = { ...rest, ...image, version: rest.version + 1 }
  const checks: readonly Check[] = [file.check, owner.check]
  return {
    checks,
    writes: [putRecord(ownerKey, after), ...removeFile(file.record, id, request.attempt.now)],
    adds: countFiles(file.record, -1),
  }
}

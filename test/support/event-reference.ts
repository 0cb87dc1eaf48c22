import { createHash } from 'node:crypto'
import type { StagedFile } from '../../core/schemas/file-inputs.ts'
import type { EventFile } from '../../core/commitment/event-format.ts'
import type { EventSecrets } from '../../core/registry/event/make.ts'
import type { CreateTarget, EvidenceDraft } from '../../core/registry/evidence/make.ts'
import type { EventRecord } from '../../core/store/records.ts'
import { H, headerHash, J, saltedHash, slotOf, T, u64 } from './commitment-reference.ts'

/**
 * The maker of events and of the record of a new evidence as it was before it was made fast: each value is written as
 * JSON where it is needed. Slow, only for tests.
 */

export interface ReferenceDraft extends Pick<
  EventRecord,
  'version' | 'time' | 'first' | 'prev' | 'type' | 'updateType' | 'files'
> {
  readonly company: string
  readonly evidenceId: string
  readonly fields: Readonly<Record<string, unknown>>
}

const ACTIONS = ['create', 'transfer', 'stolen', 'repair', 'custom', 'change', 'addfile', 'deletefile']

const hex = (text: string): Buffer => Buffer.from(text, 'hex')
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export function referenceEvent(draft: ReferenceDraft, origin: string, { slotKey, seed }: EventSecrets) {
  const { company, evidenceId, version, time, first, prev, type, updateType, fields, files } = draft
  const names = Object.keys(fields)
    .filter((name) => fields[name] !== undefined)
    .sort()
  const ids = Object.keys(files).sort()
  const length = 32 * (1 + names.length + ids.length)
  const salts = hexOf(createHash('shake256', { outputLength: length }).update(seed).digest())
  const saltAt = (index: number): string => salts.slice(64 * index, 64 * (index + 1))
  const fieldHashes = names.map((name, i) =>
    saltedHash('er1.field', { salt: saltAt(1 + i), text: J([name, fields[name]]) }),
  )
  const fileHashes = ids.map((id, i) =>
    saltedHash('er1.file', { salt: saltAt(1 + names.length + i), text: J(committedOf(files[id])) }),
  )
  const byName = Object.fromEntries(names.map((name, i) => [name, fieldHashes[i]]))
  const header = J({ fields: byName, first, log: origin, prev, v: 1, version })
  const filesText = J(Object.fromEntries(ids.map((id, i) => [id, fileHashes[i]])))
  const opening = Buffer.concat([
    T('er1.event'),
    hex(slotOf(hexOf(slotKey), version)),
    u64(time),
    hex(headerHash(header)),
    hex(saltedHash('er1.files', { salt: saltAt(0), text: filesText })),
  ])
  const action = Buffer.of(ACTIONS.indexOf(updateType ?? type))
  const rest = [hex(evidenceId.replaceAll('-', '')), u64(version), action, Buffer.from(company)]
  return { entry: hexOf(H(opening)), payload: hexOf(Buffer.concat([opening, ...rest])) }
}

function committedOf(file: EventFile | undefined): unknown {
  if (file === undefined || 'deleted' in file) return file
  const { id, mimeType, name, sha256, size } = file
  return { id, mimeType, name, sha256, size }
}

const attachedOf = (files: readonly StagedFile[]): Record<string, EventFile> =>
  Object.fromEntries(files.map(({ id, mimeType, name, sha256, size }) => [id, { id, mimeType, name, sha256, size }]))

/** The log entry of a new evidence, and the stored form of its record. */
export function referenceEvidence(target: CreateTarget, { id, input }: EvidenceDraft, secrets: EventSecrets) {
  const { origin, actor, companyId: company, categoryId, subcategoryId } = target
  const { image, files } = target.files
  const { externalId, name, meta } = input
  const [description, summary, owner] = [input.description, input.summary, input.owner].map((text) => text || undefined)
  const fields = {
    action: { type: 'create' },
    actor,
    categoryId,
    company,
    description,
    evidence: id,
    externalId,
    imageId: image?.id,
    meta,
    name,
    owner,
    slotKey: hexOf(secrets.slotKey),
    subcategoryId,
    summary,
  }
  const time = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  const head = { version: 1, time, first: null, prev: null, type: 'create' } as const
  const attached = attachedOf(files)
  const append = referenceEvent({ ...head, company, evidenceId: id, fields, files: attached }, origin, secrets)
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
  const values: unknown[] = [
    externalId,
    categoryId,
    subcategoryId,
    name,
    append.entry,
    base64(secrets.slotKey),
    base64(secrets.seed),
    { actor },
    owner,
    description,
    meta,
    summary,
    image && { id: image.id, mimeType: image.mimeType, size: image.size },
    files.length > 0 ? attached : undefined,
    files.length,
  ]
  while (!values.at(-1) && values.length > 8) values.pop()
  return { append, record: JSON.stringify(values) }
}

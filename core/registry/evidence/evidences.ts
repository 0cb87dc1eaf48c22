import { fromHex } from '../../bytes.ts'
import type { Json } from '../../commitment/canonical-json.ts'
import { RegistryError } from '../../errors.ts'
import { keys } from '../../store/keys.ts'
import type { EvidenceFiles, Evidences, Scope, StagedFile, UpdateOptions, WriteOptions } from '../../api/registry.ts'
import {
  EvidenceInput,
  EvidencePageQuery,
  ExternalId,
  MAX_BATCH_EVIDENCES,
  NewEvidence,
  type CreatedEvidence,
  type CreatedEvidences,
  type Evidence,
  type EvidenceEvent,
  type EvidenceList,
  type EvidenceListQuery,
  type EvidencePage,
  type EvidenceUpdate,
  type FileListing,
  type RecordedEvent,
} from '../schemas.ts'
import { metaText, validate } from '../validation.ts'
import { assertCompany, mustRead, rfc3339, write, type Context, type Decision, type Read } from '../context.ts'
import { decideCreate, stagedOf, type Created } from './decide-create.ts'
import { openEvent } from '../event/event.ts'
import { listEvidences } from './list.ts'
import { filesOf } from '../file/files.ts'
import type { CategoryNames } from '../category/category-cache.ts'
import { placeById, resolvePlace } from '../category/resolve.ts'
import { decodeRecord, type EventRecord, type EvidenceRecord } from '../../store/records.ts'
import { decideUpdate } from './decide-update.ts'

const DEFAULT_PAGE_LENGTH = 50

export const evidenceNotFound = (): RegistryError =>
  new RegistryError('EVIDENCE_NOT_FOUND', 'There is no such evidence in this company')

export class RegistryEvidences implements Evidences {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async create(
    scope: Scope,
    input: NewEvidence,
    files: EvidenceFiles = {},
    options: WriteOptions = {},
  ): Promise<CreatedEvidence> {
    const { categoryId, categoryName, subcategoryId, subcategoryName, ...evidence } = validate(NewEvidence, input)
    assertMeta(evidence)
    const names: CategoryNames = { categoryId, categoryName, subcategoryId, subcategoryName }
    return write(this.#context, scope, options, async (attempt) => {
      const place = await resolvePlace(this.#context, scope, names, attempt)
      const request = { evidences: [evidence], files, ...attempt }
      const { commit, created } = await decideCreate(this.#context, scope, place, request)
      const { id, txId, version } = created[0] as Created
      return { commit, answer: { id, events: [{ txId, version }] } }
    })
  }

  async createIn(
    scope: Scope,
    categoryId: string,
    subcategoryId: string,
    inputs: readonly EvidenceInput[],
    files: EvidenceFiles = {},
    options: WriteOptions = {},
  ): Promise<CreatedEvidences> {
    if (inputs.length === 0 || inputs.length > MAX_BATCH_EVIDENCES)
      throw new RegistryError('VALIDATION_ERROR', `evidences takes 1 to ${MAX_BATCH_EVIDENCES} evidences`)
    const evidences = inputs.map((input) => assertMeta(validate(EvidenceInput, input)))
    if (evidences.length > 1 && stagedOf(files).length > 0)
      throw new RegistryError('VALIDATION_ERROR', 'Files belong to one evidence: send one evidence, or no file')
    assertDistinct(evidences)
    return write(this.#context, scope, options, async (attempt) => {
      const place = await placeById(this.#context, scope, { categoryId, subcategoryId }, attempt)
      const { commit, created } = await decideCreate(this.#context, scope, place, { evidences, files, ...attempt })
      const ids = created.map(({ id }) => id)
      const events = created.map(({ id, txId, version }) => ({ id, txId, version }))
      const [first] = ids
      return {
        commit,
        answer: { ids, count: ids.length, ...(ids.length === 1 && first !== undefined && { id: first }), events },
      }
    })
  }

  list(scope: Scope, query: EvidenceListQuery = {}): Promise<EvidenceList> {
    return listEvidences(this.#context, scope, query)
  }

  async get(scope: Scope, externalId: string, query: EvidencePageQuery = {}): Promise<EvidencePage> {
    const { last = 0, len = DEFAULT_PAGE_LENGTH, disclose = false } = validate(EvidencePageQuery, query)
    const id = await this.#idOf(scope, externalId)
    // Most histories are short, so the page's first event is read along.
    const [evidence, first] = await this.#context.records.get([keys.evidence(id), keys.event(id, last + 1)])
    if (evidence === undefined) throw evidenceNotFound()
    const record = decodeRecord<EvidenceRecord>(evidence.value)
    const end = Math.min(last + len, record.lastVersion)
    const others = Array.from({ length: Math.max(0, end - last - 1) }, (_, i) => keys.event(id, last + 2 + i))
    const entries = others.length === 0 ? [] : await this.#context.records.get(others)
    const events = (end > last ? [first, ...entries] : []).map((entry) => {
      if (entry === undefined) throw new RegistryError('CORRUPT', `A stored event of evidence ${id} is missing`)
      return decodeRecord<EventRecord>(entry.value)
    })
    return {
      object: evidenceAnswer(record),
      events: await this.#eventAnswers(record, events, disclose),
      lastVersion: events.at(-1)?.version ?? last,
      isMore: end < record.lastVersion,
    }
  }

  update(
    scope: Scope,
    externalId: string,
    update: EvidenceUpdate,
    files: readonly StagedFile[] = [],
    options: UpdateOptions = {},
  ): Promise<{ readonly events: readonly RecordedEvent[] }> {
    return write(this.#context, scope, options, async ({ now }) => {
      this.#context.assertClock()
      const found = await this.#find(scope, externalId)
      if (options.ifMatch !== undefined && options.ifMatch !== found.record.lastVersion)
        throw new RegistryError(
          'VERSION_CONFLICT',
          `If-Match names version ${options.ifMatch}, the last is ${found.record.lastVersion}: read again`,
        )
      const decision: Decision<{ events: { txId: string; version: number }[] }> = decideUpdate({
        origin: this.#context.origin,
        scope,
        found,
        update,
        files,
        now,
      })
      return decision
    })
  }

  async files(scope: Scope, externalId: string): Promise<FileListing> {
    const { record } = await this.#find(scope, externalId)
    const [dt, category, subcategory] = await Promise.all(
      [record.id, record.categoryId, record.subcategoryId].map((owner) => filesOf(this.#context, owner)),
    )
    return { dt: dt ?? [], category: category ?? [], subcategory: subcategory ?? [] }
  }

  async #find(scope: Scope, externalId: string): Promise<Read<EvidenceRecord>> {
    return mustRead(this.#context, keys.evidence(await this.#idOf(scope, externalId)), evidenceNotFound)
  }

  async #idOf(scope: Scope, externalId: string): Promise<string> {
    await assertCompany(this.#context, scope)
    validate(ExternalId, externalId)
    const key = keys.externalId(externalId, scope.companyId)
    const index = await mustRead<{ id: string }>(this.#context, key, evidenceNotFound)
    return index.record.id
  }

  async #eventAnswers(
    { slotKey }: EvidenceRecord,
    events: readonly EventRecord[],
    disclose: boolean,
  ): Promise<EvidenceEvent[]> {
    const places = await this.#context.log.entryStatuses(events.map(({ txId }) => fromHex(txId) as Uint8Array))
    return events.map((event, i) => {
      const place = places[i]
      return {
        timestamp: rfc3339(event.time),
        ...textField(event, 'personaName'),
        ownerName: event.ownerName,
        type: event.type,
        ...(event.updateType !== undefined && {
          updateType: event.updateType as NonNullable<EvidenceEvent['updateType']>,
        }),
        ...textField(event, 'eventDescription'),
        ...textField(event, 'updateDescription'),
        txId: event.txId,
        version: event.version,
        ...(event.fields['meta'] !== undefined && { meta: event.fields['meta'] as Record<string, Json> }),
        merkleBatchId: place?.batch?.id ?? null,
        merkleSendStatus: place?.sendStatus ?? null,
        ...(disclose && { disclosure: openEvent(event, { origin: this.#context.origin, slotKey }).disclosure }),
      }
    })
  }
}

function assertMeta<T extends { readonly meta?: unknown }>(input: T): T {
  if (input.meta !== undefined) metaText(input.meta)
  return input
}

function assertDistinct(evidences: readonly EvidenceInput[]): void {
  const seen = new Set<string>()
  for (const { externalId } of evidences) {
    if (seen.has(externalId))
      throw new RegistryError(
        'EXTERNAL_ID_EXISTS',
        `externalId: ${JSON.stringify(externalId)} stands twice in this request`,
      )
    seen.add(externalId)
  }
}

const evidenceAnswer = (record: EvidenceRecord): Evidence => ({
  id: record.id,
  categoryId: record.categoryId,
  subcategoryId: record.subcategoryId,
  externalId: record.externalId,
  createDate: rfc3339(record.createdAt),
  name: record.name,
  status: record.stolen ? 'stolen' : 'active',
  ...(record.description !== undefined && { description: record.description }),
  ...(record.image !== undefined && { imageId: record.image.id }),
  ...(record.summary !== undefined && { summary: record.summary }),
  ...(record.owner !== undefined && { owner: record.owner }),
  txId: record.txId,
  ...(record.meta !== undefined && { meta: record.meta }),
})

const textField = <N extends string>(event: EventRecord, name: N): { [K in N]?: string } => {
  const value = event.fields[name]
  return typeof value === 'string' && value !== '' ? ({ [name]: value } as { [K in N]?: string }) : {}
}

import Type, { type Static, type TProperties, type TSchema } from 'typebox'

/**
 * One JSON Schema per shape: what is taken and what is answered. They validate input (core/registry/validation.ts), give the
 * types, and are what the server's OpenAPI document is made of. Lengths are in code points.
 */

/** No member beyond the named ones: a typo is an error and not a silent loss. */
export const closed = <T extends TProperties>(properties: T, options: { description?: string; $id?: string } = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false })

export const opt = <T extends TSchema>(schema: T) => Type.Optional(schema)
const noControls = '^[^\\p{Cc}\\p{Cs}]*$'

export const MAX_META_BYTES = 64 * 1024
export const MAX_META_DEPTH = 32
export const MAX_BATCH_EVIDENCES = 1_000

// -- parts

export const CompanyId = Type.String({
  pattern: '^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,64}$',
  description: 'Company: 1 to 64 of A-Z a-z 0-9 . _ -',
})
export const Id = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  description: 'UUID in lowercase; ids made here are of version 7',
})
export const Hash = Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256: 64 lowercase hex digits' })
export const DateTime = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
  description: 'RFC 3339, UTC, milliseconds',
})
export const ExternalId = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^(?!\\.{1,2}$)[^\\p{Cc}\\p{Cs}]+$',
  description: 'Any text without control characters, unique in its company; not . or ..',
})
/** One line. */
export const Line = Type.String({
  maxLength: 256,
  pattern: noControls,
  description: 'At most 256 characters, no control characters',
})
export const Name = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: noControls,
  description: '1 to 256 characters, no control characters',
})
export const CategoryName = Type.String({
  minLength: 1,
  maxLength: 256,
  pattern: '^[^/\\p{Cc}\\p{Cs}]+$',
  description: '1 to 256 characters, no / and no control characters',
})
/** Several lines. */
export const Text = Type.String({
  maxLength: 8_192,
  pattern: '^(?:[\\t\\n\\r]|[^\\p{Cc}\\p{Cs}])*$',
  description: 'At most 8,192 characters; of control characters only tab, LF and CR',
})
export const Meta = Type.Record(Type.String(), Type.Unknown(), {
  description: `A JSON object, at most ${MAX_META_BYTES / 1024} KiB and ${MAX_META_DEPTH} deep, of what survives canonical JSON`,
})
export const Permission = Type.Enum(['I', 'U', 'R', 'A'], {
  description: 'R reads; I also creates; U also updates; A also keeps source systems',
})
export const Base64 = Type.String({ pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' })
const Count = Type.Integer({ minimum: 0 })
const Version = Type.Integer({ minimum: 1 })

// -- what is taken

export const NewSourceSystem = closed({
  name: Name,
  apiKey: opt(
    Type.String({
      minLength: 16,
      maxLength: 1_024,
      pattern: '^[\\x21-\\x7e]+$',
      description: 'Your own key: 16 to 1,024 printable ASCII characters',
    }),
  ),
  permissions: opt(Permission),
})
export type NewSourceSystem = Static<typeof NewSourceSystem>

export const SourceSystemChange = closed({
  name: opt(Name),
  apiKey: opt(NewSourceSystem.properties.apiKey),
  permissions: opt(Permission),
  active: opt(Type.Boolean()),
})
export type SourceSystemChange = Static<typeof SourceSystemChange>

export const NewCategory = closed({ name: CategoryName, description: opt(Text) })
export type NewCategory = Static<typeof NewCategory>

export const CategoryAction = Type.Enum(['CHANGE', 'ACTIVATE', 'DEACTIVATE', 'REMOVE'])
export const CategoryChange = closed({ name: opt(CategoryName), description: opt(Text), action: opt(CategoryAction) })
export type CategoryChange = Static<typeof CategoryChange>

/** What describes an evidence, without its place. */
const evidenceBody = {
  externalId: ExternalId,
  name: Name,
  owner: opt(Line),
  description: opt(Text),
  summary: opt(Text),
  meta: opt(Meta),
}
export const EvidenceInput = closed(evidenceBody)
export type EvidenceInput = Static<typeof EvidenceInput>

export const NewEvidence = closed({
  categoryName: opt(Type.Union([CategoryName, Type.Literal('')])),
  categoryId: opt(Type.String({ maxLength: 64 })),
  subcategoryName: opt(Type.Union([CategoryName, Type.Literal('')])),
  subcategoryId: opt(Type.String({ maxLength: 64 })),
  ...evidenceBody,
})
export type NewEvidence = Static<typeof NewEvidence>

export const UpdateAction = Type.Enum(['update', 'transfer'])
export const UpdateActionType = Type.Enum(['stolen', 'repair', 'custom', 'change'])
export const EvidenceUpdate = closed({
  updateActionDescription: opt(Text),
  updateActionPersona: opt(Line),
  owner: opt(Line),
  description: opt(Text),
  summary: opt(Text),
  eventDescription: opt(Text),
  meta: opt(Meta),
  action: opt(UpdateAction),
  actionType: opt(UpdateActionType),
  stolen: opt(Type.Boolean()),
})
export type EvidenceUpdate = Static<typeof EvidenceUpdate>

export const EvidenceListQuery = closed({
  categoryId: opt(Type.String()),
  subcategoryId: opt(Type.String()),
  len: opt(Type.Integer({ minimum: 1, maximum: 1_000 })),
  last: opt(Type.String()),
})
export type EvidenceListQuery = Static<typeof EvidenceListQuery>

export const EvidencePageQuery = closed({
  last: opt(Type.Integer({ minimum: 0 })),
  len: opt(Type.Integer({ minimum: 1, maximum: 500 })),
  disclose: opt(Type.Boolean()),
})
export type EvidencePageQuery = Static<typeof EvidencePageQuery>

export const FileSelector = closed({
  fileId: Type.String(),
  evidenceId: opt(Type.String()),
  categoryId: opt(Type.String()),
  subcategoryId: opt(Type.String()),
})
export type FileSelector = Static<typeof FileSelector>

export const MerkleValidationRequest = closed({
  txId: Hash,
  merkleRoot: Hash,
  proof: Type.Array(closed({ hash: Hash, position: opt(Type.Enum(['left', 'right'])) }), { maxItems: 64 }),
})
export type MerkleValidationRequest = Static<typeof MerkleValidationRequest>

// -- what is answered

export const SourceSystem = closed({
  id: Id,
  name: Name,
  permissions: Permission,
  active: Type.Boolean(),
  createdAt: DateTime,
})
export type SourceSystem = Static<typeof SourceSystem>

export const FileEntry = closed({
  name: Type.String(),
  overlayId: Id,
  mimeType: Type.String(),
  title: Type.String(),
  iconId: opt(Id),
  eventId: Type.Integer({
    minimum: 0,
    description: 'Version of the event that attached it, 0 for files of categories',
  }),
})
export type FileEntry = Static<typeof FileEntry>

export const FileListing = closed({
  dt: Type.Array(FileEntry),
  category: Type.Array(FileEntry),
  subcategory: Type.Array(FileEntry),
})
export type FileListing = Static<typeof FileListing>

export const CategoryStatus = Type.Enum(['active', 'inactive', 'removed'])
const categoryDetails = {
  path: Type.String(),
  name: Type.String(),
  status: CategoryStatus,
  fileIds: Type.Array(FileEntry),
  digitalTwinsCount: Count,
  imageId: opt(Id),
  description: opt(Type.String()),
}
export const CategoryDetails = closed(categoryDetails)
export type CategoryDetails = Static<typeof CategoryDetails>

export const CategoryList = closed({
  categories: Type.Array(
    closed({ id: Id, ...categoryDetails, subcategories: Type.Array(closed({ id: Id, ...categoryDetails })) }),
  ),
  count: Count,
})
export type CategoryList = Static<typeof CategoryList>

export const EvidenceStatus = Type.Enum(['active', 'stolen'])
export const Evidence = closed({
  id: Id,
  categoryId: Id,
  subcategoryId: Id,
  externalId: Type.String(),
  createDate: DateTime,
  name: Type.String(),
  status: EvidenceStatus,
  description: opt(Type.String()),
  imageId: opt(Id),
  summary: opt(Type.String()),
  owner: opt(Type.String()),
  txId: Hash,
  meta: opt(Meta),
})
export type Evidence = Static<typeof Evidence>

export const EventType = Type.Enum(['update', 'transfer', 'create'])
export const EventUpdateType = Type.Enum(['stolen', 'repair', 'custom', 'change', 'addfile', 'deletefile'])
export const SendStatus = Type.Enum(['P', 'S', 'C'], { description: 'P pending, S sent, C confirmed' })

const Disclosed = closed({ text: Type.String({ description: 'The exact text that was hashed' }), salt: Hash })
export const Disclosure = closed(
  {
    opening: Type.String({ pattern: '^[0-9a-f]{240}$', description: 'The 120 bytes whose SHA-256 is the txId, hex' }),
    header: Type.String(),
    filesText: Type.String(),
    filesSalt: Hash,
    fields: Type.Record(Type.String(), Disclosed),
    files: Type.Record(Type.String(), Disclosed),
  },
  {
    description:
      'What it takes to recompute the txId; what was erased is absent here and present as a hash in the header or filesText',
  },
)
export type Disclosure = Static<typeof Disclosure>

export const EvidenceEvent = closed({
  timestamp: DateTime,
  personaName: opt(Type.String()),
  ownerName: Type.String(),
  type: EventType,
  updateType: opt(EventUpdateType),
  eventDescription: opt(Type.String()),
  updateDescription: opt(Type.String()),
  txId: Hash,
  version: Version,
  meta: opt(Meta),
  merkleBatchId: Type.Union([Id, Type.Null()]),
  merkleSendStatus: Type.Union([SendStatus, Type.Null()]),
  disclosure: opt(Disclosure),
})
export type EvidenceEvent = Static<typeof EvidenceEvent>

export const EvidencePage = closed({
  object: Evidence,
  events: Type.Array(EvidenceEvent),
  lastVersion: Type.Integer({ minimum: 0 }),
  isMore: Type.Boolean(),
})
export type EvidencePage = Static<typeof EvidencePage>

export const EvidenceListItem = closed({
  id: Id,
  externalId: Type.String(),
  name: Type.String(),
  creationDate: DateTime,
  owner: closed({ name: Type.String() }),
  historyChanges: closed({ create: Count, update: Count, transfer: Count, total: Count }),
  categoryId: Id,
  subcategoryId: Id,
  txId: Hash,
  summary: opt(Type.String()),
  lastUpdateDate: DateTime,
  lastUpdateTxId: Hash,
  iconId: Type.Union([closed({ id: Id, mimeType: Type.String() }), Type.Null()]),
  stolen: Type.Boolean(),
  blockNumber: opt(Count),
  lastUpdateBlockNumber: opt(Count),
})
export type EvidenceListItem = Static<typeof EvidenceListItem>

export const EvidenceList = closed({ dts: Type.Array(EvidenceListItem), count: Count, isMore: Type.Boolean() })
export type EvidenceList = Static<typeof EvidenceList>

export const RecordedEvent = closed({ txId: Hash, version: Version })
export type RecordedEvent = Static<typeof RecordedEvent>

export const CreatedEvidence = closed({ id: Id, events: Type.Array(RecordedEvent) })
export type CreatedEvidence = Static<typeof CreatedEvidence>

export const CreatedEvidences = closed({
  ids: Type.Array(Id),
  count: Count,
  id: opt(Id),
  events: Type.Array(closed({ id: Id, txId: Hash, version: Version })),
})
export type CreatedEvidences = Static<typeof CreatedEvidences>

export const FileToken = closed({ token: Type.String(), expiresAt: DateTime })
export type FileToken = Static<typeof FileToken>

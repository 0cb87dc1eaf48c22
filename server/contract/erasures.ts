import Type from '#typebox'
import { ErasureInput } from '../../core/schemas/index.ts'
import { closed, Count, DateTime, Hash, Id, Ok, opt, Version } from './values.ts'

const part = { field: Type.String({ description: 'Name of the field; `files` for a file' }), file: opt(Id) }

/** A value that was erased, beside what is left of it. */
export const ErasedValue = closed({ ...part, at: DateTime })

const outcome = {
  erased: Type.Array(closed({ version: Version, ...part }), { description: 'Without what was erased before' }),
  receipt: closed({ txId: Hash }, { description: 'The log entry that commits to the receipt' }),
  disk: Type.Enum(['done', 'pending'], {
    description:
      'pending: the files of the store may still hold what was erased, or keys of indexes that contain it. ' +
      'Old values go within minutes, keys in LevelDB at its next start. done: the server has removed it. In ' +
      'PostgreSQL, free space of pages keeps its bytes until it is used again',
  }),
}

/** What an erasure did. */
export const ErasedEvidence = closed({ ...Ok.properties, ...outcome, receipt: opt(outcome.receipt) })

/** The erasure of a subject was accepted. */
export const AskedErasure = closed({ ...Ok.properties, id: Id })

const { reason, note } = ErasureInput.properties
const evidenceId = Type.Unsafe<string>({ ...Id, description: 'The internal id of the evidence' })
const asked = {
  id: Id,
  reason,
  note,
  by: Type.String({ description: 'Who erased: the id of a source system, or `operator`' }),
}

const ofEvidence = { kind: Type.Literal('evidence'), ...asked, at: DateTime, evidenceId, ...outcome }
export const EvidenceErasure = closed(ofEvidence, { description: 'An erasure of an evidence' })

const ofSubject = {
  kind: Type.Literal('subject'),
  ...asked,
  state: Type.Enum(['asked', 'running', 'done', 'failed'], {
    description: 'failed: an evidence is damaged. What was erased before it stays erased',
  }),
  dryRun: Type.Boolean({ description: 'It only looks for what would be erased' }),
  createdAt: DateTime,
  doneAt: opt(DateTime),
  progress: closed({ done: Count, total: Count }, { description: 'Evidences that it has looked at, of how many' }),
  erased: Type.Integer({ minimum: 0, description: 'How many values it has erased: none in a dry run' }),
}
export const SubjectErasure = closed(ofSubject, { description: 'An erasure of an owner or a persona' })

const FoundValue = closed({ evidenceId, externalId: Type.String(), version: Version, field: part.field })
const found = Type.Array(FoundValue, { description: 'Values that are the subject: the first 1,000' })

/** One erasure. That of a subject shows what it has found. */
export const ErasureDetails = Type.Union([
  closed({ ...Ok.properties, ...ofEvidence }),
  closed({ ...Ok.properties, ...ofSubject, found, isMore: Type.Boolean() }),
])

/** The erasures of a company, newest first. To continue, send the id of the last one as `last`. */
export const ErasurePage = closed({
  erasures: Type.Array(Type.Union([EvidenceErasure, SubjectErasure]), { description: 'Newest first' }),
  isMore: Type.Boolean(),
})

import Type from '#typebox'
import { ErasureInput } from '../../core/schemas/index.ts'
import { closed, DateTime, Hash, Id, opt, Version } from './values.ts'

const part = { field: Type.String({ description: 'Name of the field; `files` for a file' }), file: opt(Id) }

/** A value that was erased, beside what is left of it. */
export const ErasedValue = closed({ ...part, at: DateTime })

const outcome = {
  erased: Type.Array(closed({ version: Version, ...part }), { description: 'Without what was erased before' }),
  receipt: closed({ txId: Hash }, { description: 'The log entry that commits to the receipt' }),
  disk: Type.Enum(['done', 'pending'], {
    description:
      'pending: the files of the store may still hold what was erased, or keys of indexes that contain it. ' +
      'Old values go within minutes, keys in LevelDB at its next start',
  }),
}

/** What an erasure did. */
export const ErasedEvidence = closed({ status: Type.Literal('ok'), ...outcome, receipt: opt(outcome.receipt) })

const { reason, note } = ErasureInput.properties
const Erasure = closed({
  id: Id,
  at: DateTime,
  evidenceId: Type.Unsafe<string>({ ...Id, description: 'The internal id of the evidence' }),
  reason,
  note,
  by: Type.String({ description: 'Who erased: the id of a source system, or `operator`' }),
  ...outcome,
})

/** The erasures of a company, newest first. To continue, send the id of the last one as `last`. */
export const ErasurePage = closed({
  erasures: Type.Array(Erasure, { description: 'Newest first' }),
  isMore: Type.Boolean(),
})

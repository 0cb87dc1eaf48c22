import Type from '#typebox'
import { closed, DateTime, Hash, Id, opt, Version } from './values.ts'

const part = { field: Type.String({ description: 'Name of the field; `files` for a file' }), file: opt(Id) }

/** A value that was erased, beside what is left of it. */
export const ErasedValue = closed({ ...part, at: DateTime })

/** What an erasure did. */
export const ErasedEvidence = closed({
  status: Type.Literal('ok'),
  erased: Type.Array(closed({ version: Version, ...part }), { description: 'Without what was erased before' }),
  receipt: opt(closed({ txId: Hash }, { description: 'The log entry that commits to the receipt' })),
  disk: Type.Enum(['done', 'pending'], {
    description: 'pending: the files of the store may still hold what was erased, or keys of indexes that contain it',
  }),
})

import Type from '#typebox'
import { ERASURE_REASONS } from '../commitment/receipt.ts'
import { closed, IdInput, type Input, Name, opt, Text } from './fields.ts'

/** The fields of events that can be erased by name. */
export const ERASABLE_FIELDS = [
  'name',
  'owner',
  'description',
  'summary',
  'meta',
  'updateDescription',
  'personaName',
  'eventDescription',
] as const

const MAX_ITEMS = 1_000
const version = Type.Integer({ minimum: 1, description: 'an integer of at least 1' })

const common = {
  /** It stands in the receipt. */
  reason: Type.Enum(ERASURE_REASONS),
  /** For the company alone: it is in no receipt. At most 8,192 characters. */
  note: opt(Text),
  /** Only says what would be erased. Default false. */
  dryRun: opt(Type.Boolean({ description: 'true: nothing is erased, the result is what would be' })),
}

/** What an erasure takes: exactly one of `fields`, `files` and `content`. */
export const ErasureInput = closed({
  /** Names of fields, which are erased in all events that have them. */
  fields: opt(Type.Array(Type.Enum(ERASABLE_FIELDS), { minItems: 1, description: 'an array of names of fields' })),
  /** Only with `fields`: the versions whose fields are erased. Default: all. */
  versions: opt(
    Type.Array(version, { minItems: 1, maxItems: MAX_ITEMS, description: 'an array of 1 to 1,000 versions' }),
  ),
  /** Ids of files, which are erased with their names and bytes. */
  files: opt(
    Type.Array(IdInput, { minItems: 1, maxItems: MAX_ITEMS, description: 'an array of 1 to 1,000 ids of files' }),
  ),
  /** All fields that can be erased, the external id, and all files. */
  content: opt(Type.Literal(true, { description: 'true' })),
  ...common,
})
export type ErasureInput = Input<typeof ErasureInput>

/** What the erasure of a subject takes. */
export const SubjectErasureInput = closed({
  /** The name of an owner or a persona, 1 to 256 characters. It is compared as the filter `owner` of lists does. */
  subject: Name,
  ...common,
})
export type SubjectErasureInput = Input<typeof SubjectErasureInput>

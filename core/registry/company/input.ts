import Type from 'typebox'
import { closed, Name, opt, Permission } from '../schemas.ts'

/** The same as `NewSourceSystem` and `SourceSystemChange` in core/api/source-systems.ts. */

const ApiKey = Type.String({
  minLength: 16,
  maxLength: 1_024,
  pattern: '^[\\x21-\\x7e]+$',
  description: 'a string of 16 to 1,024 printable ASCII characters without spaces',
})

export const newSourceSystemSchema = closed({ name: Name, apiKey: opt(ApiKey), permissions: opt(Permission) })

export const sourceSystemChangeSchema = closed({
  name: opt(Name),
  apiKey: opt(ApiKey),
  permissions: opt(Permission),
  active: opt(Type.Boolean({ description: 'a boolean' })),
})

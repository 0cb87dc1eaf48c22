import Type, { type Static } from 'typebox'
import type { SourceSystem as CoreSourceSystem } from '../../core/index.ts'
import { closed, Count, dateTime, DateTime, Id, Name, opt, Permission } from './values.ts'

// The contract's names of these requests are those of the core, so they need no translation.

const ApiKey = Type.String({
  minLength: 16,
  maxLength: 1_024,
  pattern: '^[\\x21-\\x7e]+$',
  description: 'Your own key: 16 to 1,024 printable ASCII characters without spaces',
})

export const NewSourceSystem = closed({ name: Name, apiKey: opt(ApiKey), permissions: opt(Permission) })

export const SourceSystemChange = closed({
  name: opt(Name),
  apiKey: opt(ApiKey),
  permissions: opt(Permission),
  active: opt(Type.Boolean()),
})

export const CreatedSourceSystem = closed({
  id: Id,
  apiKey: opt(Type.String({ description: 'Only if the service made the key, and only this once' })),
})

export const SourceSystem = closed({
  id: Id,
  name: Name,
  permissions: Permission,
  active: Type.Boolean(),
  createdAt: DateTime,
})
type SourceSystem = Static<typeof SourceSystem>

export const SourceSystemList = closed({ sourceSystems: Type.Array(SourceSystem), count: Count })
type SourceSystemList = Static<typeof SourceSystemList>

const sourceSystem = ({ id, name, permissions, active, createdAt }: CoreSourceSystem): SourceSystem => ({
  id,
  name,
  permissions,
  active,
  createdAt: dateTime(createdAt),
})

export const sourceSystemList = (list: readonly CoreSourceSystem[]): SourceSystemList => ({
  sourceSystems: list.map(sourceSystem),
  count: list.length,
})

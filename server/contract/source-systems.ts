import Type, { type Static } from '#typebox'
import type { SourceSystem as CoreSourceSystem } from '../../core/index.ts'
import { NewSourceSystem as CoreNewSchema, SourceSystemChange as CoreChangeSchema } from '../../core/schemas/index.ts'
import { closed, Count, DateTime, Id, Name, opt, Permission, TimeInput } from './values.ts'

/** Endpoint 16. Without `apiKey` the service makes a key. */
export const NewSourceSystem = closed({ ...CoreNewSchema.properties, expiresAt: opt(TimeInput) })

/** Endpoint 17. `graceSeconds` is for a new key: how long the replaced one still works. */
export const SourceSystemChange = closed({
  ...CoreChangeSchema.properties,
  active: opt(Type.Boolean()),
  expiresAt: opt(TimeInput),
})

/** What endpoint 16 returns. */
export const CreatedSourceSystem = closed({
  id: Id,
  apiKey: opt(Type.String({ description: 'Only if the service made the key, and only this once' })),
})

/** A source system, never with its key. */
export const SourceSystem = closed({
  id: Id,
  name: Name,
  permissions: Permission,
  active: Type.Boolean(),
  createdAt: DateTime,
  expiresAt: opt(DateTime),
  replacedKeyEndsAt: opt(DateTime),
  lastUsedAt: opt(DateTime),
})

/** All source systems of a company. There are few, so the list has no pages. */
export const SourceSystemList = closed({ sourceSystems: Type.Array(SourceSystem), count: Count })
type SourceSystemList = Static<typeof SourceSystemList>

/** What the owner of a key may know about it. */
export const OwnSourceSystem = closed(
  { id: opt(Id), name: Name, permissions: Permission, expiresAt: opt(DateTime) },
  { description: 'The operator key has the name `operator` and no id' },
)

/** The list with its length, which the contract asks for. */
export const sourceSystemList = (sourceSystems: readonly CoreSourceSystem[]): SourceSystemList => ({
  sourceSystems: [...sourceSystems],
  count: sourceSystems.length,
})

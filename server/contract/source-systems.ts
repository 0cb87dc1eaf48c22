import Type, { type Static } from '#typebox'
import type {
  NewSourceSystem as CoreNewSourceSystem,
  SourceSystem as CoreSourceSystem,
  SourceSystemChange as CoreSourceSystemChange,
} from '../../core/index.ts'
import { apiKey, graceSeconds, removedExpiry } from '../../core/schemas/index.ts'
import { closed, Count, DateTime, defined, Id, Name, opt, Permission, time, TimeInput } from './values.ts'

/** Endpoint 16. Without `apiKey` the service makes a key. */
export const NewSourceSystem = closed({
  name: Name,
  apiKey: opt(apiKey),
  permissions: opt(Permission),
  expiresAt: opt(TimeInput),
})
type NewSourceSystem = Static<typeof NewSourceSystem>

/** Endpoint 17. `graceSeconds` is for a new key: how long the replaced one still works. */
export const SourceSystemChange = closed({
  name: opt(Name),
  apiKey: opt(apiKey),
  graceSeconds: opt(graceSeconds),
  permissions: opt(Permission),
  active: opt(Type.Boolean()),
  expiresAt: opt(TimeInput),
  clear: opt(removedExpiry),
})
type SourceSystemChange = Static<typeof SourceSystemChange>

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

/** Times are texts in a request, and dates in the core. */
export const newSourceSystem = ({ expiresAt, ...input }: NewSourceSystem): CoreNewSourceSystem => ({
  ...input,
  ...defined({ expiresAt: time(expiresAt) }),
})

/** As `newSourceSystem`. */
export const sourceSystemChange = ({ expiresAt, ...input }: SourceSystemChange): CoreSourceSystemChange => ({
  ...input,
  ...defined({ expiresAt: time(expiresAt) }),
})

/** The list with its length, which the contract asks for. */
export const sourceSystemList = (sourceSystems: readonly CoreSourceSystem[]): SourceSystemList => ({
  sourceSystems: [...sourceSystems],
  count: sourceSystems.length,
})

import Type, { type Static } from '#typebox'
import type {
  NewSourceSystem as CoreNewSourceSystem,
  SourceSystem as CoreSourceSystem,
  SourceSystemChange as CoreSourceSystemChange,
} from '../../core/index.ts'
import { closed, Count, DateTime, defined, Id, Name, opt, Permission, time, TimeInput } from './values.ts'

const ApiKey = Type.String({
  minLength: 16,
  maxLength: 1_024,
  pattern: '^[\\x21-\\x7e]+$',
  description: 'a string of 16 to 1,024 printable ASCII characters without spaces',
})
const MAX_GRACE_SECONDS = 7 * 24 * 3_600

export const NewSourceSystem = closed({
  name: Name,
  apiKey: opt(ApiKey),
  permissions: opt(Permission),
  expiresAt: opt(TimeInput),
})
type NewSourceSystem = Static<typeof NewSourceSystem>

export const SourceSystemChange = closed({
  name: opt(Name),
  apiKey: opt(ApiKey),
  graceSeconds: opt(
    Type.Integer({
      minimum: 0,
      maximum: MAX_GRACE_SECONDS,
      description: `an integer of 0 to ${MAX_GRACE_SECONDS}`,
    }),
  ),
  permissions: opt(Permission),
  active: opt(Type.Boolean()),
  expiresAt: opt(TimeInput),
})
type SourceSystemChange = Static<typeof SourceSystemChange>

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
  expiresAt: opt(DateTime),
  replacedKeyEndsAt: opt(DateTime),
  lastUsedAt: opt(DateTime),
})

export const SourceSystemList = closed({ sourceSystems: Type.Array(SourceSystem), count: Count })
type SourceSystemList = Static<typeof SourceSystemList>

export const OwnSourceSystem = closed(
  { id: opt(Id), name: Name, permissions: Permission, expiresAt: opt(DateTime) },
  { description: 'The operator key has the name `operator` and no id' },
)

export const newSourceSystem = ({ expiresAt, ...input }: NewSourceSystem): CoreNewSourceSystem => ({
  ...input,
  ...defined({ expiresAt: time(expiresAt) }),
})

export const sourceSystemChange = ({ expiresAt, ...input }: SourceSystemChange): CoreSourceSystemChange => ({
  ...input,
  ...defined({ expiresAt: time(expiresAt) }),
})

export const sourceSystemList = (sourceSystems: readonly CoreSourceSystem[]): SourceSystemList => ({
  sourceSystems: [...sourceSystems],
  count: sourceSystems.length,
})

import Type, { type Static } from '#typebox'
import type { AuditPage as CoreAuditPage } from '../../core/index.ts'
import { removedExpiry } from '../../core/schemas/index.ts'
import { closed, DateTime, Id, Name, opt, pageLength, Permission } from './values.ts'

const base = { id: Id, at: DateTime }
const Actor = Type.String({ description: 'Who did it: the id of a source system, or `operator`' })
const Times = Type.Integer({
  minimum: 1,
  description: 'How often it happened in about a minute. `at` is the first time',
})
const Values = closed({
  name: opt(Name),
  permissions: opt(Permission),
  active: opt(Type.Boolean()),
  expiresAt: opt(DateTime),
  clear: opt(removedExpiry),
})

/** One thing that happened to the keys of a company. The types are those of `registry.sourceSystems.audit`. */
export const AuditEntry = Type.Union(
  [
    closed(
      { ...base, type: Type.Enum(['created', 'changed']), actor: Actor, systemId: Id, values: Values },
      { description: 'A source system was created with these values, or got them' },
    ),
    closed(
      { ...base, type: Type.Literal('rotated'), actor: Actor, systemId: Id, replacedKeyEndsAt: opt(DateTime) },
      { description: 'A source system got another key. The replaced one stopped working at once, or works until then' },
    ),
    closed(
      {
        ...base,
        type: Type.Literal('rejected'),
        reason: Type.Enum(['unknown', 'inactive', 'expired', 'replaced']),
        systemId: opt(Id),
        address: opt(Type.String()),
        count: Times,
      },
      { description: 'A key was rejected: a wrong one, or one of a source system that is inactive or has expired' },
    ),
    closed(
      { ...base, type: Type.Enum(['shared', 'shareEnded']), actor: Actor, evidenceId: Id, shareId: Id },
      { description: 'A link that discloses a part of an evidence was made, or ended before its time' },
    ),
    closed(
      { ...base, type: Type.Literal('fileToken'), actor: Actor, fileId: Id, count: Times },
      { description: 'A token for a file was made' },
    ),
  ],
  { description: 'No entry contains a key' },
)

/** Endpoint `listAudit`. To continue, send the id of the last entry as `last`. */
export const AuditPage = closed({
  entries: Type.Array(AuditEntry, { description: 'Newest first' }),
  isMore: Type.Boolean(),
})
type AuditPage = Static<typeof AuditPage>

/** A page of a list whose items have ids: the audit trail, and the companies. */
export const PageQuery = closed({
  len: opt(pageLength()),
  last: opt(Type.String({ description: 'Id of the last item that you have' })),
})

/** Renames what the core calls `items` and `hasMore`. */
export const auditPage = ({ items, hasMore }: CoreAuditPage): AuditPage => ({ entries: [...items], isMore: hasMore })

import Type, { type Static } from '#typebox'
import type { CreatedShare as CoreCreatedShare, Share as CoreShare } from '../../core/index.ts'
import { Bundle, NewShare as CoreSchema } from '../../core/schemas/index.ts'
import { ErasedValue } from './erasures.ts'
import { closed, Count, DateTime, Id, opt, TimeInput, Version } from './values.ts'

/** What a link discloses, and until when. The fields and files are those of the core. */
export const NewShare = closed({ ...CoreSchema.properties, expiresAt: opt(TimeInput) })

const Files = Type.Union([Type.Literal('all'), Type.Array(Id)])

/** What the creation of a link returns. */
export const CreatedShare = closed({
  id: Id,
  url: opt(
    Type.String({ description: 'The link. Only once: a request that is repeated with its Idempotency-Key has none' }),
  ),
  expiresAt: opt(DateTime),
})

/** A link, never with its secret. */
export const Share = closed({
  id: Id,
  kind: Type.Enum(['link', 'certificate']),
  fields: Type.Array(Type.String()),
  files: Files,
  version: Version,
  createdAt: DateTime,
  actor: Type.String({ description: 'Who made it: the id of a source system, or `operator`' }),
  expiresAt: opt(DateTime),
  endedAt: opt(DateTime),
  lastUsedAt: opt(DateTime),
})

/** The links of an evidence. There are few, so the list has no pages. */
export const ShareList = closed({ shares: Type.Array(Share), count: Count })
type ShareList = Static<typeof ShareList>

/** What the holder of a link sees. */
export const SharedEvidence = closed({
  bundle: Bundle,
  files: Type.Array(closed({ id: Id, mimeType: Type.String(), size: Count }), {
    description: 'The files whose bytes the link opens',
  }),
  filedUnder: opt(
    closed(
      { category: Type.String({ description: 'Its name' }), subcategory: Type.String({ description: 'Its name' }) },
      { description: 'Where the registry files it now. No event commits to these names' },
    ),
  ),
  erased: opt(Type.Array(ErasedValue, { description: 'Those of its fields whose present value was erased' })),
})

/** The secret stands behind the `#` of the link, which browsers do not send. */
export const createdShare = ({ secret, ...share }: CoreCreatedShare, dashboardUrl: string) => ({
  ...share,
  ...(secret !== undefined && { url: `${dashboardUrl}#/p/${share.id}.${secret}` }),
})

export const shareList = (shares: readonly CoreShare[]): ShareList => ({
  shares: shares.map(({ fields, files, ...share }) => ({
    ...share,
    fields: [...fields],
    files: files === 'all' ? files : [...files],
  })),
  count: shares.length,
})

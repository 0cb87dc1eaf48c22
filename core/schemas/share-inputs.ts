import Type from '#typebox'
import { EVENT_FIELDS } from '../commitment/event-format.ts'
import { closed, IdInput, type Input, opt, Time } from './fields.ts'

/** What the operations on shares take. */

/** The four texts of a request, as one choice. */
export const TEXTS = ['description', 'summary', 'updateDescription', 'eventDescription'] as const

const MAX_SHARED_FILES = 1_000

export const NewShare = closed({
  /** Names of fields, or `texts` for the four texts. `action`, `status` and `imageId` are always disclosed. */
  fields: Type.Array(Type.Enum([...EVENT_FIELDS.filter((name) => name !== 'slotKey'), 'texts']), {
    maxItems: EVENT_FIELDS.length,
    description: 'an array with names of fields of events, or texts',
  }),
  /** Ids of files, `image` for the present image, or `all` for the files that the evidence has now. */
  files: Type.Union(
    [Type.Enum(['all']), Type.Array(Type.Union([Type.Enum(['image']), IdInput]), { maxItems: MAX_SHARED_FILES })],
    {
      description: `all, or an array of at most ${MAX_SHARED_FILES} ids of files, or image`,
    },
  ),
  /** In the future. Level `R` makes shares of at most 30 days, which is also its default. Default of `U`: no end. */
  expiresAt: opt(Time),
  /** `certificate`: its code is printed on a certificate. Requires level `U`. Default `link`. */
  kind: opt(Type.Enum(['link', 'certificate'])),
})
/** What a link discloses. */
export type NewShare = Input<typeof NewShare>

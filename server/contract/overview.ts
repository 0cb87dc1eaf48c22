import Type, { type Static } from '#typebox'
import type { Overview as CoreOverview } from '../../core/index.ts'
import { EvidenceListItem, evidenceListItem } from './evidence-list.ts'
import { closed, Count, DateTime, opt } from './values.ts'

const number = (description: string) => Type.Integer({ minimum: 0, description })

/** How many entries of the log a step covers, and when it was last done. */
const step = {
  size: number('Entries of the log'),
  at: opt(Type.Unsafe<Date>({ ...DateTime, description: 'When it was last done' })),
}

const attesting = { ...step, waiting: number('Sealed entries that wait for it. Receipts of erasures alone do not') }

/** What a company has at a glance, and how far the whole log is. */
export const Overview = closed({
  counts: closed(
    {
      evidences: number('All evidences'),
      stolen: number('Evidences that are reported as stolen at present'),
      categories: number('Without subcategories'),
      files: number('Of evidences, categories and subcategories'),
    },
    { description: 'How many there are at present' },
  ),
  createdPerDay: Type.Array(
    closed({
      date: Type.String({ maxLength: 10, pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}', description: 'A day in UTC' }),
      count: Count,
    }),
    {
      description: 'The last 30 days in UTC, oldest first',
    },
  ),
  eventsToday: closed(
    {
      count: number('Those that are counted'),
      isMore: Type.Boolean({ description: 'Whether there are more, which a later request counts' }),
    },
    { description: 'Events of the company on the present day in UTC' },
  ),
  log: closed(
    {
      recorded: closed(step, { description: 'In the log' }),
      sealed: closed(step, { description: 'In a signed tree' }),
      stamped: closed({ ...attesting, authority: opt(Type.String()) }, { description: 'Under a time stamp' }),
      anchored: closed(
        { ...attesting, network: opt(Type.String()), blockNumber: opt(Count) },
        { description: 'In a confirmed block of the chain' },
      ),
    },
    { description: 'Of the whole log: of all companies' },
  ),
  health: Type.Enum(['ok', 'degraded'], { description: 'Whether this server works as it should' }),
  backup: opt(
    closed(
      { at: opt(Type.Unsafe<Date>({ ...DateTime, description: 'When the last backup began' })) },
      { description: 'Of this server; empty if it has made none' },
    ),
  ),
  disk: opt(
    closed(
      { freeBytes: number('Bytes that are free'), sizeBytes: number('Bytes of the whole volume') },
      { description: 'The fullest volume of this server' },
    ),
  ),
  dts: Type.Array(EvidenceListItem, { description: 'The ten evidences with the newest changes, newest first' }),
})

/** What a company may know of the server. */
export type CompanyHealth = Readonly<Pick<Static<typeof Overview>, 'health' | 'backup' | 'disk'>>

/** An `Overview` as JSON. The items of its list are made as those of any list. */
export function overview({ lastChanged, createdPerDay, ...rest }: CoreOverview, health: CompanyHealth): string {
  const days = createdPerDay.map(({ day, count }) => ({ date: day.toISOString().slice(0, 10), count }))
  const members = JSON.stringify({ ...rest, createdPerDay: days, ...health })
  return `${members.slice(0, -1)},"dts":[${lastChanged.map(evidenceListItem).join(',')}]}`
}

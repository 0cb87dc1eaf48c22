import type { Client, Evidence, EvidenceEvent, FileEntry } from '../../client/index.ts'
import { committedValue, membersOf } from '../event-changes.ts'
import { fieldName, memberName } from '../event-names.ts'
import * as texts from '../texts/index.ts'
import { placeIn } from './photo-place.ts'

export type Share = Awaited<ReturnType<Client['listShares']>>['shares'][number]

/** What a link can disclose, in the order of the dialog. It always discloses kinds, states and times of events. */
const GROUPS = [
  { key: 'name', fields: ['name'] },
  { key: 'owner', fields: ['owner'] },
  { key: 'ids', fields: ['externalId', 'company'] },
  { key: 'facts', fields: ['meta'] },
  { key: 'persona', fields: ['personaName'] },
  { key: 'texts', fields: ['description', 'summary', 'updateDescription', 'eventDescription'] },
  { key: 'category', fields: ['categoryId', 'subcategoryId'] },
] as const

/** What an evidence has that a link can disclose. */
export interface Shareable {
  readonly evidence: Evidence
  readonly events: readonly EvidenceEvent[]
  /** Its own. `hasPlace`: whether it says where it was taken, if that is known. */
  readonly files: readonly (FileEntry & { readonly hasPlace: boolean | undefined })[]
  /** The names of its category and subcategory. */
  readonly category: string
}

/** The most that one request returns. */
const MAX_EVENTS = 500

/** An evidence with all its events, oldest first. */
export async function readHistory(client: Client, externalId: string, signal: AbortSignal) {
  const request = { externalId, len: MAX_EVENTS, disclose: true }
  const { object: evidence, events: first, lastVersion } = await client.getEvidence(request, { signal })
  const events = [...first]
  while (events.length < lastVersion)
    events.push(...(await client.getEvidence({ ...request, last: events.length }, { signal })).events)
  return { evidence, events }
}

/** Reads all events, and looks into the photos. */
export async function readShareable(client: Client, externalId: string, signal: AbortSignal): Promise<Shareable> {
  const { evidence, events } = await readHistory(client, externalId, signal)
  const { categoryId, subcategoryId } = evidence
  const { path } = await client.getSubcategory({ categoryId, subcategoryId }, { signal })
  const { dt } = await client.listEvidenceFiles({ externalId }, { signal })
  const files = dt.map(async (file) => ({ ...file, hasPlace: await placeIn(client, file, signal) }))
  return { evidence, events, files: await Promise.all(files), category: path.split('/').filter(Boolean).join(' / ') }
}

/** One switch. */
export interface Choice {
  readonly key: string
  readonly title: string
  readonly hint: string
  /** The hint warns. */
  readonly isWarning: boolean
  readonly isOnAtFirst: boolean
  /** What a stranger sees of it: what the events set, newest first, or the names of files. */
  readonly values: readonly string[]
  readonly fields: (typeof GROUPS)[number]['fields'][number][]
  /** Ids. */
  readonly files: readonly string[]
}

/** The switches for what an evidence has. A photo that may say where it was taken has its own, which is off. */
export function choicesOf({ evidence, events, files, category }: Shareable): readonly Choice[] {
  const t = texts.share
  const [name, ...groups] = GROUPS.map(({ key, fields }): Choice => {
    const values = key === 'category' ? [category] : valuesOf(events, fields)
    const [title, hint] = [t.groups[key], t.hints[key](values)]
    return { key, title, hint, isWarning: false, isOnAtFirst: key === 'name', values, fields: [...fields], files: [] }
  })
  const ofFiles = (key: string, title: string, of: Shareable['files']): Choice => {
    const values = of.map(({ name: fileName }) => fileName)
    const hasPlace = of.some((file) => file.hasPlace !== false)
    const hint = hasPlace
      ? t.place(
          values.join(),
          of.every((file) => file.hasPlace === true),
        )
      : t.names(values)
    const isOnAtFirst = key === 'cover' && !hasPlace
    return { key, title, hint, isWarning: hasPlace, isOnAtFirst, values, fields: [], files: of.map(idOf) }
  }
  const cover = files.filter((file) => idOf(file) === evidence.imageId)
  const others = files.filter((file) => !cover.includes(file))
  const harmless = others.filter(({ hasPlace }) => hasPlace === false)
  return [
    ...(name ? [name] : []),
    ofFiles('cover', t.cover, cover),
    ...groups,
    ...others.filter((file) => !harmless.includes(file)).map((file) => ofFiles(idOf(file), file.title, [file])),
    ofFiles('files', t.files(harmless.length), harmless),
  ].filter(({ values }) => values.length > 0)
}

const idOf = ({ overlayId }: FileEntry): string => overlayId

/** The values that events set of these fields, newest first, each once. Facts as `name: value`. */
export function valuesOf(events: readonly EvidenceEvent[], names: readonly string[]): readonly string[] {
  const values = events.toReversed().flatMap((event) =>
    names.flatMap((name) => {
      const value = committedValue(event, name)
      if (value === undefined) return []
      if (name !== 'meta') return [textOf(value)]
      return membersOf(value, '').flatMap(([path, fact]) =>
        path === '' ? [] : [`${memberName(path.slice(1))}: ${textOf(fact)}`],
      )
    }),
  )
  return [...new Set(values)]
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** What a link discloses beyond states and kinds, in words. */
export function disclosedBy({ fields, files }: Pick<Share, 'fields' | 'files'>): string {
  const t = texts.share
  const whole = GROUPS.filter((group) => group.fields.every((field) => fields.includes(field)))
  const inWhole: readonly string[] = whole.flatMap((group) => group.fields)
  const names = [
    ...whole.map(({ key }) => t.groups[key]),
    ...fields.filter((field) => !inWhole.includes(field)).map(fieldName),
    ...(files === 'all' ? [t.allFiles] : files.length > 0 ? [t.files(files.length)] : []),
  ]
  return names.length === 0 ? t.onlyState : names.join(', ')
}

import type { EvidenceEvent } from '../client/index.ts'

/** A value that an event set. Values are JSON as it was committed; `undefined` means not set. */
export interface Change {
  /** The name of the field. A member of `meta` has its path, such as `meta.color`. */
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

/** A file that an event attached or deleted. */
export interface FileChange {
  readonly kind: 'attached' | 'deleted'
  readonly fileId: string
  /** Absent if it was erased. */
  readonly name: string | undefined
  /** Hex. */
  readonly sha256: string | undefined
}

/** What one event changed. */
export interface EventChanges {
  readonly values: readonly Change[]
  readonly files: readonly FileChange[]
}

/** The fields that people change. The other fields are ids, or are shown with the event. */
const SHOWN = ['name', 'owner', 'status', 'description', 'summary', 'meta'] as const

/**
 * What each event changed, from the texts that its txId commits to. Of the first one, what it
 * changed is only known if it has version 1. The events must be requested with `disclose`.
 */
export function changesOf(events: readonly EvidenceEvent[]): readonly EventChanges[] {
  // No creation sets the status.
  const current = new Map<string, unknown>(events[0]?.version === 1 ? [['status', 'active']] : [])
  const fileNames = new Map<string, string>()
  return events.map((event) => {
    const values = valuesOf(event).flatMap(([name, after]) => {
      const before = current.get(name)
      current.set(name, after)
      return name === 'meta' ? metaChanges(before, after) : [{ name, before, after }]
    })
    const files = filesOf(event, fileNames)
    for (const { fileId, name } of files) if (name !== undefined) fileNames.set(fileId, name)
    return { values: values.filter(({ before, after }) => !isSame(before, after)), files }
  })
}

/** The values that an event sets, as its txId commits to them. */
function valuesOf(event: EvidenceEvent): readonly (readonly [name: string, value: unknown])[] {
  return SHOWN.flatMap((name) => {
    if (event.disclosure?.fields[name] === undefined) return []
    // Other events repeat the `meta` of their request without setting it.
    if (name === 'meta' && event.type === 'transfer') return []
    return [[name, committedValue(event, name)] as const]
  })
}

/** The value of a field of an event, as its txId commits to it; `undefined` if it has none. */
export function committedValue({ disclosure }: EvidenceEvent, name: string): unknown {
  const [, value] = parseArray(disclosure?.fields[name]?.text ?? '')
  return value === null || value === '' ? undefined : value
}

/** The status that an event sets, `undefined` if it sets none. */
export const statusOf = (event: EvidenceEvent): unknown => new Map(valuesOf(event)).get('status')

/** An event of a bundle. The names of what it sets are complete, also of what it does not disclose. */
interface DisclosedEvent {
  /** `undefined` if not even the names are disclosed. */
  readonly version: number | undefined
  readonly fields: ReadonlyMap<string, unknown>
  readonly hiddenFields: readonly string[]
}

/** The last text that the events of a history disclose of a field. */
export interface LastText {
  /** `undefined` for an empty one, which is not set. */
  readonly text: string | undefined
  /** The version that set it; `undefined` if none is disclosed. */
  readonly version: number | undefined
  /** No later event sets the field without disclosing it. */
  readonly isPresent: boolean
}

/** The events that set a field. */
export const settersOf = <T extends Pick<DisclosedEvent, 'fields' | 'hiddenFields'>>(
  events: readonly T[],
  name: string,
): readonly T[] => events.filter(({ fields, hiddenFields }) => fields.has(name) || hiddenFields.includes(name))

/** What the events of a history, oldest first, say last of a field. */
export function lastText(events: readonly DisclosedEvent[], name: string): LastText {
  const setters = settersOf(events, name)
  const shown = setters.findLast(({ fields }) => fields.has(name))
  const value = shown?.fields.get(name)
  return {
    text: typeof value === 'string' && value !== '' ? value : undefined,
    version: shown?.version,
    isPresent: events[0]?.version === 1 && shown === setters.at(-1),
  }
}

/** The same, if it is present. */
export function presentText(events: readonly DisclosedEvent[], name: string): string | undefined {
  const { text, isPresent } = lastText(events, name)
  return isPresent ? text : undefined
}

/** The files that an event attached or deleted. */
function filesOf({ disclosure, updateType }: EvidenceEvent, names: ReadonlyMap<string, string>): readonly FileChange[] {
  return Object.entries(disclosure?.files ?? {}).map(([fileId, { text }]) => {
    const file = asRecord(parseJson(text))
    const { name = names.get(fileId), sha256 } = file
    return {
      kind: updateType === 'deletefile' ? 'deleted' : 'attached',
      fileId,
      name: typeof name === 'string' ? name : undefined,
      sha256: typeof sha256 === 'string' ? sha256 : undefined,
    }
  })
}

/** The members of `meta`, also of objects inside it, each by its path such as `meta.mileage.value`. */
function metaChanges(before: unknown, after: unknown): readonly Change[] {
  const [old, next] = [new Map(membersOf(before, 'meta')), new Map(membersOf(after, 'meta'))]
  return [...new Set([...old.keys(), ...next.keys()])].map((name) => ({
    name,
    before: old.get(name),
    after: next.get(name),
  }))
}

/** The members of an object, also of objects inside it, each by its path. */
export function membersOf(value: unknown, path: string): readonly (readonly [path: string, value: unknown])[] {
  if (value === undefined) return []
  const members = Array.isArray(value) ? [] : Object.entries(asRecord(value))
  return members.length === 0
    ? [[path, value]]
    : members.flatMap(([member, inner]) => membersOf(inner, `${path}.${member}`))
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** `undefined` for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function parseArray(text: string): readonly unknown[] {
  const value = parseJson(text)
  return Array.isArray(value) ? value : []
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}

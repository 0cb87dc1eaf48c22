import { canonicalJson, type Json } from '../commitment/canonical-json.ts'
import { assertSlot, verifyEvent, type VerifiedEvent } from './event.ts'
import { countOf, hashOf, membersOf, refuse, textOf, timeOf, type Members } from './untrusted.ts'

/** A whole history, from version 1 to its last. */
export interface VerifiedHistory {
  /** The evidence's id, as version 1 names it. */
  readonly evidence: string
  /** txId of version 1, hex: the evidence's own. */
  readonly txId: string
  /** 32 bytes: with it, slots of later versions can be looked for in the log's openings. */
  readonly slotKey: Uint8Array
  readonly events: readonly VerifiedEvent[]
}

/** Fields that never change in a history. */
const LASTING = ['company', 'evidence', 'externalId'] as const

/**
 * Checks all events of an evidence, as the registry answers them with `disclose=1`, version 1 first and none left out: each disclosure leads to
 * its txId (`verifyEvent`), versions are dense, `first` and `prev` chain, slots follow from the slot key of version 1, a
 * deletion names the event that attached the file, and what an event says beside its disclosure is what it commits to.
 * A history that was cut short at its end passes: look for its next slot in the log (`verifyLog`). Throws `VERIFICATION_FAILED`.
 */
export function verifyHistory(
  events: readonly unknown[],
  { origin }: { readonly origin?: string } = {},
): VerifiedHistory {
  const verified: VerifiedEvent[] = []
  let owner = ''
  for (const value of events) {
    const answer = membersOf(value, 'An event')
    const event = verifyEvent(answer['disclosure'], {
      txId: textOf(answer['txId'], 'The txId'),
      ...(origin !== undefined && { origin }),
    })
    assertFollows(event, verified)
    owner = textIn(event.fields, 'owner') ?? owner
    assertSaysTheSame(answer, event, owner)
    verified.push(event)
  }
  const [first] = verified
  if (first === undefined) throw refuse('A history has at least one event')
  return { evidence: lasting(first, 'evidence'), txId: first.txId, slotKey: slotKeyOf(first), events: verified }
}

function assertFollows(event: VerifiedEvent, before: readonly VerifiedEvent[]): void {
  const { version } = event
  const first = before[0] ?? event
  if (version !== before.length + 1)
    throw refuse(`Version ${version} stands where version ${before.length + 1} must stand`)
  if (version > 1 && event.first !== first.txId) throw refuse(`Version ${version} is of another history`)
  if (version > 1 && event.prev !== before.at(-1)?.txId)
    throw refuse(`Version ${version} does not follow the one before`)
  if (event.log !== first.log) throw refuse(`Version ${version} is of another log`)
  if (event.time < (before.at(-1)?.time ?? 0)) throw refuse(`Version ${version} is older than the one before`)
  assertSlot(event, slotKeyOf(first))
  for (const name of LASTING)
    if (event.fields.has(name) && lasting(event, name) !== lasting(first, name))
      throw refuse(`Version ${version} has another ${name}`)
  for (const [id, file] of event.files) if ('deleted' in file) assertDeletes(event, id, file.deleted, before)
}

/** The event that attached the file is in this history, and nobody deleted the file before. */
function assertDeletes(event: VerifiedEvent, id: string, txId: string, before: readonly VerifiedEvent[]): void {
  const attached = before.find((other) => other.txId === txId)
  if (attached === undefined || !(attached.files.has(id) || attached.erasedFiles.includes(id)))
    throw refuse(`Version ${event.version} deletes the file ${id}, which no event before it attached`)
  const again = before.some((other) => {
    const file = other.files.get(id)
    return file !== undefined && 'deleted' in file
  })
  if (again) throw refuse(`Version ${event.version} deletes the file ${id} a second time`)
}

const slotKeyOf = (first: VerifiedEvent): Uint8Array => hashOf(first.fields.get('slotKey'), 'The slot key of version 1')

function lasting(event: VerifiedEvent, name: (typeof LASTING)[number]): string {
  return textOf(event.fields.get(name), `The ${name} of version ${event.version}`)
}

const textIn = (fields: ReadonlyMap<string, Json>, name: string): string | undefined => {
  const value = fields.get(name)
  return typeof value === 'string' ? value : undefined
}

/** Nothing that the answer shows beside the disclosure may differ from it. */
function assertSaysTheSame(answer: Members, event: VerifiedEvent, owner: string): void {
  const at = `Version ${event.version}`
  if (timeOf(answer['timestamp'], 'The timestamp') !== event.time) throw refuse(`${at} is shown with another time`)
  if (countOf(answer['version'], 'The version') !== event.version) throw refuse(`${at} is shown as another`)
  const action = event.fields.get('action')
  const { type, updateType } = action === undefined ? answer : membersOf(action, 'The action')
  if (answer['type'] !== type || answer['updateType'] !== updateType) throw refuse(`${at} is shown with another type`)
  for (const name of ['personaName', 'eventDescription', 'updateDescription'])
    assertShown(answer, event, name, textIn(event.fields, name) || undefined)
  assertShown(answer, event, 'meta', event.fields.get('meta'))
  if (answer['ownerName'] !== owner) throw refuse(`${at} is shown with another owner`)
}

function assertShown(answer: Members, event: VerifiedEvent, name: string, committed: Json | undefined): void {
  const shown = answer[name]
  const same = shown === undefined || committed === undefined ? shown === committed : sameJson(shown, committed)
  if (!same) throw refuse(`Version ${event.version} is shown with another ${name}`)
}

function sameJson(a: unknown, b: Json): boolean {
  try {
    return canonicalJson(a) === canonicalJson(b)
  } catch {
    return false
  }
}

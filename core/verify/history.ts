import { canonicalJson, type Json } from '../commitment/canonical-json.ts'
import { verifyEvent, type VerifiedEvent } from './event.ts'
import { CONSTANT_FIELDS, HistoryCheck } from './history-check.ts'
import { verificationError } from '../errors.ts'
import { asCount, asHash, asObject, assertOnlyMembers, asString, asTime, type UntrustedObject } from './untrusted.ts'

/** The verified events of one evidence, from version 1 on without a gap. */
export interface VerifiedHistory {
  /** The evidence's id, from version 1. */
  readonly evidence: string
  /** txId of version 1, hex. It is also the evidence's txId. */
  readonly txId: string
  /** 32 bytes. With it the slots of later versions can be searched in the log (`VerifiedLog.slots`). */
  readonly slotKey: Uint8Array
  /** In the order of their versions. */
  readonly events: readonly VerifiedEvent[]
  /**
   * The owner after the last version: '' if there is none, `undefined` if the last change of owner is not disclosed.
   */
  readonly owner: string | undefined
}

/** What `verifyHistory` additionally checks. */
export interface VerifyHistoryOptions {
  /** The origin of the log that all events must belong to. Default: any. */
  readonly origin?: string
}

/**
 * Verifies all events of an evidence, as the registry returns them with `disclose=1`, from version 1 on without a gap.
 *
 * Checks that each disclosure hashes to its txId (`verifyEvent`); that versions are consecutive and `first` and `prev`
 * link them; that slots are derived from the slot key of version 1; that a deletion names the event that attached the
 * file; and that the members of an event beside its disclosure are the committed ones. A value that the event commits
 * to but that is not disclosed is unknown: an event that shows it is rejected.
 *
 * It cannot detect that the last versions are missing. To detect that, compute the slot of the next version from
 * `slotKey` (`core/README.md`) and search `VerifiedLog.slots` for it.
 *
 * @param events Parsed JSON, untrusted.
 * @throws `VERIFICATION_FAILED` with the first check that failed.
 */
export function verifyHistory(events: readonly unknown[], options: VerifyHistoryOptions = {}): VerifiedHistory {
  const verified: VerifiedEvent[] = []
  const history = new HistoryCheck()
  let owner: string | undefined = ''
  for (const value of events) {
    const shown = asObject(value, 'An event')
    const event = verifyEvent(shown['disclosure'], {
      ...options,
      txId: asString(shown['txId'], 'The txId'),
    })
    history.add(event)
    // Version 1 must disclose what it is compared with.
    for (const name of CONSTANT_FIELDS) if (event.fields.has(name)) constantField(verified[0] ?? event, name)
    owner = ownerAfter(event, owner)
    assertMatchesDisclosure(shown, event, owner)
    verified.push(event)
  }
  const [first] = verified
  if (first === undefined) throw verificationError('A history must have at least one event')
  return {
    evidence: constantField(first, 'evidence'),
    txId: first.txId,
    slotKey: slotKeyOf(first),
    events: verified,
    owner,
  }
}

/** A change of owner that is not disclosed makes the owner unknown, until a later change is disclosed. */
function ownerAfter(event: VerifiedEvent, before: string | undefined): string | undefined {
  const owner = disclosedText(event, 'owner')
  return owner === undefined && !event.hiddenFields.includes('owner') ? before : owner
}

const slotKeyOf = (first: VerifiedEvent): Uint8Array => asHash(first.fields.get('slotKey'), 'The slot key of version 1')

function constantField(event: VerifiedEvent, name: (typeof CONSTANT_FIELDS)[number]): string {
  return asString(event.fields.get(name), `The ${name} of version ${event.version}`)
}

/** The disclosed text of a field; `undefined` if the event does not set the field, or does not disclose it. */
function disclosedText({ fields, version }: VerifiedEvent, name: string): string | undefined {
  const value = fields.get(name)
  return value === undefined ? undefined : asString(value, `The ${name} of version ${version}`)
}

/** The members of an event beside its disclosure. The log's position is verified by the proof of the event. */
const SHOWN_MEMBERS = [
  'timestamp',
  'personaName',
  'ownerName',
  'type',
  'updateType',
  'eventDescription',
  'updateDescription',
  'txId',
  'version',
  'meta',
  'merkleBatchId',
  'merkleSendStatus',
  'disclosure',
  'extensions',
]

/** The members of an event beside its disclosure must not differ from the committed values. */
function assertMatchesDisclosure(shown: UntrustedObject, event: VerifiedEvent, owner: string | undefined): void {
  const at = `Version ${event.version}`
  assertOnlyMembers(shown, SHOWN_MEMBERS, at)
  if (asTime(shown['timestamp'], 'The timestamp') !== event.time)
    throw verificationError(`${at} is shown with another time`)
  if (asCount(shown['version'], 'The version') !== event.version)
    throw verificationError(`${at} is shown with another version`)
  const action = event.fields.get('action')
  const { type, updateType } = action === undefined ? {} : asObject(action, `The action of version ${event.version}`)
  if (shown['type'] !== type || shown['updateType'] !== updateType)
    throw verificationError(`${at} is shown with another type`)
  for (const name of ['personaName', 'eventDescription', 'updateDescription'])
    assertShown(shown, event, name, disclosedText(event, name) || undefined)
  assertShown(shown, event, 'meta', event.fields.get('meta'))
  if (shown['ownerName'] !== owner) throw verificationError(`${at} is shown with another owner`)
}

function assertShown(shown: UntrustedObject, event: VerifiedEvent, name: string, committed: Json | undefined): void {
  const value = shown[name]
  const isSame = value === undefined || committed === undefined ? value === committed : isSameJson(value, committed)
  if (!isSame) throw verificationError(`Version ${event.version} is shown with another ${name}`)
}

function isSameJson(a: unknown, b: Json): boolean {
  try {
    return canonicalJson(a) === canonicalJson(b)
  } catch {
    return false
  }
}

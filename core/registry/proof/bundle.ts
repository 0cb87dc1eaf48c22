import type { Bundle, BundleSubject } from '../../schemas/bundle.ts'
import { BundleSelection } from '../../schemas/proof-inputs.ts'
import { RegistryError } from '../../errors.ts'
import { isId } from '../../ids.ts'
import { firstEventOf, readEvent, readEvents } from '../../store/evidence.ts'
import type { DeletedFileRecord, EventRecord, EvidenceRecord } from '../../store/records.ts'
import { toHex } from '../../bytes.ts'
import { type DisclosedText, type Disclosure, EVENT_FIELDS } from '../../commitment/event-format.ts'
import { checkedOpeningOf, discloseEvent } from '../event/opening.ts'
import { txIdOfEntry } from '../event/make.ts'
import type { Context } from '../context.ts'
import { entryOfHex } from './log-proof.ts'
import { malformedTxId } from './transaction.ts'
import { BUNDLE_FORMAT, MAX_BUNDLE_EVENTS } from '../../commitment/bundle-format.ts'
import { readEvidence } from '../evidence/find.ts'
import { enterCompany, permits } from '../permissions.ts'
import { invalidInput, uuidInput, validate } from '../../schemas/validation.ts'
import { fitted, Room, tooLarge } from './bundle-limits.ts'
import { Turns } from './turns.ts'
import {
  bundleUnits,
  type DisclosedEvent,
  type DisclosedReceipt,
  MAX_BUNDLE_UNITS,
  proveEvents,
} from './bundle-proofs.ts'
import { discloseReceipts } from './receipts.ts'
import { VouchedTrees } from './vouched-trees.ts'
import type { BundleSources } from './vouchers.ts'
import { readFileOf } from './file.ts'
import type { Proofs } from '../../api/proofs.ts'
import { findEvidence, FoundEvidence, invalid } from './find-evidence.ts'

/** The bundle of a history. Throws `EVIDENCE_NOT_FOUND`, `FILE_NOT_FOUND`, `VALIDATION_ERROR`, `BUNDLE_TOO_LARGE`. */
export const bundleHistory =
  (context: Context, sources: BundleSources): Proofs['bundle'] =>
  async (scope, { externalId, ...selection }) => {
    const entered = await enterCompany(context, scope, 'R')
    const { files, ...texts } = validate(BundleSelection, selection)
    const selected = { ...texts, files: Array.isArray(files) ? files.map(uuidInput) : files }
    if (Array.isArray(selected.fields)) assertFields(selected.fields, selected.history === true)
    const { record } = await readEvidence(context, entered, externalId)
    if (Array.isArray(selected.files)) await assertFiles(context, record, selected.files)
    const hasReceiptTexts = permits(entered.principal, 'A')
    const shown = { ...selectionOf(selected), hasReceiptTexts }
    return bundleOf(context, new VouchedTrees(context.log, sources), record, shown)
  }

/** The bundle of the history of an evidence. Throws `BUNDLE_TOO_LARGE`. */
export async function bundleOf(
  context: Context,
  trees: VouchedTrees,
  evidence: EvidenceRecord,
  selection: Selection,
): Promise<Bundle> {
  const { lastVersion, txId } = evidence
  if (lastVersion > MAX_BUNDLE_EVENTS)
    throw new RegistryError(
      'BUNDLE_TOO_LARGE',
      `A bundle holds at most ${MAX_BUNDLE_EVENTS} events, and this evidence has ${lastVersion}`,
    )
  const events = await discloseHistory(context, evidence, selection)
  const receipts = await discloseReceipts(context, evidence, events, selection.hasReceiptTexts)
  return assemble(context, trees, { type: 'evidence', txId }, { events, receipts }, selection.kept)
}

/** A name that no event can have is a typo. One that only this evidence lacks is not. */
function assertFields(names: readonly string[], history: boolean): void {
  if (!history && names.includes('slotKey'))
    throw invalidInput('fields', 'must not contain slotKey: set history to disclose it')
  const unknown = names.find((name) => !EVENT_FIELDS.includes(name))
  if (unknown === undefined) return
  const known = EVENT_FIELDS.filter((name) => name !== 'slotKey').join(', ')
  throw invalidInput('fields', `must not contain ${JSON.stringify(unknown.slice(0, 64))}: the names are ${known}`)
}

async function assertFiles(context: Context, evidence: EvidenceRecord, fileIds: readonly string[]): Promise<void> {
  const files = await Promise.all(fileIds.map(async (id) => (isId(id) ? readFileOf(context, evidence, id) : undefined)))
  const missing = fileIds.find((_, i) => files[i] === undefined)
  if (missing !== undefined) throw new RegistryError('FILE_NOT_FOUND', `This evidence has no file ${missing}`)
}

/** The bundle that anyone may have: of the creation of an evidence, or of one of its files. */
export const bundlePublic =
  (context: Context, sources: BundleSources): Proofs['publicBundle'] =>
  async ({ fileId: fileText, ...selector }) => {
    const fileId = fileText === undefined ? undefined : uuidInput(fileText)
    if (fileId !== undefined && !isId(fileId)) return invalid('fileId must be the id of a file: a UUID')
    const found = await findEvidence(context, selector)
    if (!(found instanceof FoundEvidence)) return found
    const { record } = found
    const trees = new VouchedTrees(context.log, sources)
    if (fileId === undefined) {
      const subject: BundleSubject = { type: 'evidence', txId: record.txId }
      const events = discloseCreation(context, record)
      const receipts = await discloseReceipts(context, record, events)
      return { status: 'ok', bundle: await assemble(context, trees, subject, { events, receipts }) }
    }
    const file = await readFileOf(context, record, fileId)
    if (file === undefined)
      return { status: 'not_found', error: 'This evidence has no such file', code: 'FILE_NOT_FOUND' }
    const events = await discloseFile(context, record, file)
    const receipts = await discloseReceipts(context, record, events)
    const subject: BundleSubject = { type: 'file', txId: events[0].txId, fileId }
    return { status: 'ok', bundle: await assemble(context, trees, subject, { events, receipts }) }
  }

/** The bundle of any event, of which only the opening is shown. */
export const bundleEvent =
  (context: Context, sources: BundleSources): Proofs['eventBundle'] =>
  async (text) => {
    const entry = entryOfHex(text)
    if (entry === undefined) return malformedTxId
    const [status] = await context.log.entryStatuses([entry])
    const payload = status && (await context.log.payloadAt(status.position, entry))
    if (payload?.kind !== 'event')
      return { status: 'not_found', error: 'This log contains no event with the txId', code: 'NOT_FOUND' }
    const { company, evidenceId: id, opening } = payload
    const txId = txIdOfEntry(entry)
    // Its record is not read, so every receipt that names it may belong to it.
    const events = [{ txId, disclosed: { opening: toHex(opening) }, isErased: () => true }]
    const receipts = await discloseReceipts(context, { company, id }, events)
    const trees = new VouchedTrees(context.log, sources)
    const bundle = await assemble(context, trees, { type: 'evidence', txId }, { events, receipts })
    return { status: 'ok', bundle }
  }

async function assemble(
  { log, origin }: Context,
  trees: VouchedTrees,
  subject: BundleSubject,
  disclosed: { readonly events: readonly DisclosedEvent[]; readonly receipts: readonly DisclosedReceipt[] },
  kept?: readonly string[],
): Promise<Bundle> {
  const proven = await proveEvents(log, trees, disclosed)
  if (bundleUnits(proven) > MAX_BUNDLE_UNITS) throw tooLarge()
  return fitted({ format: BUNDLE_FORMAT, version: 1, origin, subject, ...proven }, kept)
}

/** What a bundle discloses of a version. */
export interface Selection {
  /** Whether the version has a checkpoint of its own. */
  readonly isShown: (version: number) => boolean
  readonly hasField: (version: number, name: string) => boolean
  readonly hasFile: (version: number, id: string) => boolean
  /** Whether receipts of erasures are shown with their texts, which is for A keys alone. Default false. */
  readonly hasReceiptTexts?: boolean
  /** The fields that stay if the values of the oldest versions do not fit. Default: all values must fit. */
  readonly kept?: readonly string[]
}

/** What a caller asked for. */
export function selectionOf({ fields, files, history = false, versions }: BundleSelection): Selection {
  const { from, to } = versions ?? { from: 1, to: MAX_BUNDLE_EVENTS }
  const isShown = (version: number): boolean => version >= from && version <= to
  return {
    isShown,
    hasField: (version, name) => isShown(version) && (name === 'slotKey' ? history : includes(fields, name)),
    hasFile: (version, id) => isShown(version) && includes(files, id),
  }
}

const includes = (selected: BundleSelection['fields'], name: string): boolean =>
  selected === 'all' || (selected !== 'none' && selected.includes(name))

/** Events that are read at the same time. Each has some 100 KiB at most. */
const PAGE = 32

/**
 * The whole history of an evidence, with its headers and what is selected. It is read once, the newest event first, and
 * no further than there is room. Throws `BUNDLE_TOO_LARGE`.
 */
async function discloseHistory(
  context: Context,
  evidence: EvidenceRecord,
  { isShown, hasField, hasFile, kept }: Selection,
): Promise<readonly DisclosedEvent[]> {
  const events: DisclosedEvent[] = []
  const [room, turns] = [new Room(evidence.lastVersion, kept), new Turns()]
  for (let last = evidence.lastVersion; last > 0; last -= PAGE) {
    const count = Math.min(PAGE, last)
    const versions = Array.from({ length: count }, (_, i) => last - count + 1 + i)
    for (const event of (await readEvents(context.records, evidence, versions)).toReversed()) {
      const { version } = event
      const { fields: allFields, files: allFiles, ...committed } = open(context, evidence, event)
      const fields = selectedOf(allFields, (name) => hasField(version, name))
      const files = selectedOf(allFiles, (id) => hasFile(version, id))
      const disclosed = room.take({ ...committed, ...(fields && { fields }), ...(files && { files }) })
      events.push({ ...stateOf(event), isShown: isShown(version), disclosed })
      for (const { text } of Object.values(allFields)) await turns.add(text.length)
    }
  }
  return events.reverse()
}

/** The selected texts, `undefined` if there are none. */
function selectedOf(
  texts: Readonly<Record<string, DisclosedText>>,
  isSelected: (name: string) => boolean,
): Record<string, DisclosedText> | undefined {
  const selected = Object.entries(texts).filter(([name]) => isSelected(name))
  return selected.length === 0 ? undefined : Object.fromEntries(selected)
}

/** For anyone: the creation of an evidence, of which only the opening is shown. */
function discloseCreation(context: Context, evidence: EvidenceRecord): readonly DisclosedEvent[] {
  const event = firstEventOf(evidence)
  const opening = checkedOpeningOf(event, { origin: context.origin, slotKey: evidence.slotKey })
  return [{ ...stateOf(event), disclosed: { opening: toHex(opening) } }]
}

/** For anyone: the event that attached a file and, for a deleted one, the event that deleted it. */
async function discloseFile(
  context: Context,
  evidence: EvidenceRecord,
  file: { readonly id: string; readonly version: number; readonly deletion?: DeletedFileRecord['deletion'] },
): Promise<readonly [DisclosedEvent, ...DisclosedEvent[]]> {
  const attached = await readEvent(context.records, evidence, file.version)
  const attachment = { ...stateOf(attached), disclosed: filesOf(open(context, evidence, attached)) }
  if (file.deletion?.version === undefined) return [attachment]
  const event = await readEvent(context.records, evidence, file.deletion.version)
  const deletion = open(context, evidence, event)
  // The text of a deleted file holds only ids, so anyone may see it.
  const files = selectedOf(deletion.files, (id) => id === file.id)
  return [attachment, { ...stateOf(event), disclosed: { ...filesOf(deletion), ...(files && { files }) } }]
}

/** Which event it is, and what of it is erased. */
function stateOf({ txId, erased: { at } = { fields: {}, files: {} } }: EventRecord) {
  return { txId, ...(at && { isErased: (name: string) => Object.hasOwn(at, name) }) }
}

const open = ({ origin }: Context, { slotKey }: EvidenceRecord, event: EventRecord) =>
  discloseEvent(event, { origin, slotKey })

const filesOf = ({ opening, filesText, filesSalt }: Disclosure) => ({ opening, filesText, filesSalt })

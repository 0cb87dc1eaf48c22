import type { BundleEvent, BundleSelection } from '../../schemas/bundle.ts'
import type { TxId } from '../../api/scope.ts'
import { toHex } from '../../bytes.ts'
import type { Disclosure, DisclosedText } from '../../commitment/event-format.ts'
import type { EventRecord, EvidenceRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { checkedOpeningOf, openCheckedEvent } from '../event/event.ts'
import { firstEventOf, readEvent, readEvents } from '../../store/evidence.ts'

/** An event of a bundle and what it discloses, not proven yet. */
export interface DisclosedEvent {
  readonly txId: TxId
  readonly disclosed: Omit<BundleEvent, 'position' | 'inclusion'>
}

type Selected = BundleSelection['fields']

/** Events that are read at the same time. */
const PAGE = 100

/** The whole history of an evidence, with its headers and what the caller selected. */
export async function discloseHistory(
  context: Context,
  evidence: EvidenceRecord,
  { fields, files, history = false }: BundleSelection,
): Promise<readonly DisclosedEvent[]> {
  const isSelected = (name: string): boolean => (name === 'slotKey' ? history : includes(fields, name))
  const events: DisclosedEvent[] = []
  for (let from = 1; from <= evidence.lastVersion; from += PAGE) {
    const versions = Array.from({ length: Math.min(PAGE, evidence.lastVersion - from + 1) }, (_, i) => from + i)
    const page = await readEvents(context.records, evidence, versions)
    for (const event of page) {
      const { disclosure } = open(context, evidence, event)
      const { opening, header, filesText, filesSalt } = disclosure
      events.push({
        txId: event.txId,
        disclosed: {
          opening,
          header,
          filesText,
          filesSalt,
          ...textsMember('fields', disclosure.fields, isSelected),
          ...textsMember('files', disclosure.files, (id) => includes(files, id)),
        },
      })
    }
  }
  return events
}

const includes = (selected: Selected, name: string): boolean =>
  selected === 'all' || (selected !== 'none' && selected.includes(name))

/** The selected texts under the name of their member, `{}` if there are none. */
function textsMember<Name extends 'fields' | 'files'>(
  member: Name,
  texts: Readonly<Record<string, DisclosedText>>,
  isSelected: (name: string) => boolean,
): { readonly [N in Name]?: Record<string, DisclosedText> } {
  const selected = Object.entries(texts).filter(([name]) => isSelected(name))
  if (selected.length === 0) return {}
  const value = Object.fromEntries(selected)
  return { [member]: value } as { [N in Name]: Record<string, DisclosedText> }
}

/** For anyone: the creation of an evidence, of which only the opening is shown. */
export function discloseCreation(context: Context, evidence: EvidenceRecord): readonly DisclosedEvent[] {
  const event = firstEventOf(evidence)
  const opening = checkedOpeningOf(event, { origin: context.origin, slotKey: evidence.slotKey })
  return [{ txId: event.txId, disclosed: { opening: toHex(opening) } }]
}

/** For anyone: the event that attached a file and, for a deleted one, the event that deleted it. */
export async function discloseFile(
  context: Context,
  evidence: EvidenceRecord,
  file: { readonly id: string; readonly version: number; readonly deletion?: { readonly version: number } },
): Promise<readonly DisclosedEvent[]> {
  const attached = await readEvent(context.records, evidence, file.version)
  const attachment: DisclosedEvent = { txId: attached.txId, disclosed: filesOf(open(context, evidence, attached)) }
  if (file.deletion === undefined) return [attachment]
  const event = await readEvent(context.records, evidence, file.deletion.version)
  const deletion = open(context, evidence, event)
  // The text of a deleted file holds only ids, so anyone may see it.
  const files = textsMember('files', deletion.disclosure.files, (id) => id === file.id)
  return [attachment, { txId: event.txId, disclosed: { ...filesOf(deletion), ...files } }]
}

const open = ({ origin }: Context, { slotKey }: EvidenceRecord, event: EventRecord) =>
  openCheckedEvent(event, { origin, slotKey })

const filesOf = ({ disclosure: { opening, filesText, filesSalt } }: { readonly disclosure: Disclosure }) => ({
  opening,
  filesText,
  filesSalt,
})

import type { ErasureInput } from '../../client/index.ts'
import { counted, few } from './counted.ts'

export const erasure = {
  /** In place of a value. */
  on: (date: string) => `erased on ${date}`,
  verb: 'Erase',
  title: (name: string) => `Erase from “${name}”`,
  intro:
    'Nothing brings it back. Versions, times, hashes and proofs stay, and still verify. A receipt in the log proves ' +
    'that the registry stated the erasure, not that no copy exists. Not found: mentions inside other texts, ' +
    'backups made before, downloads and prints.',
  what: 'What',
  field: (name: string, values: readonly string[], events: number) =>
    `${name}: ${few(values)} (${counted(events, 'event')})`,
  content: (externalId: string, id: string) =>
    `Everything: the content of this record. Instead of ${externalId}, its external id is then ${id}`,
  chooseOne: 'Choose above what to erase',
  reason: 'Reason',
  reasons: {
    request: 'The person asked for it',
    retention: 'It need not be kept any longer',
    court: 'A court or an authority ordered it',
    mistake: 'It was entered by mistake',
    other: 'Another reason',
  } satisfies Record<ErasureInput['reason'], string>,
  noteHint: "Only in your company's list of erasures, in no receipt.",
  confirm: (externalId: string) => `Enter ${externalId} to confirm`,
  otherId: 'This is not the external id of the record',
  done: {
    done: 'Erased, also from the files of the server',
    pending: 'Erased; from the files of the server at its next start at the latest',
  },
  receipt: 'Show the receipt',
  list: 'Erasures',
  none: 'Nothing is erased yet. The menu of a record has “Erase …”.',
  when: 'When',
  disk: 'In the files of the server',
  disks: { done: 'removed', pending: 'removed at its next start at the latest' },
  person: {
    title: 'Erase a person',
    intro:
      'Looks for the name as the present or a former owner, and as the person of an event, in all records. Mentions ' +
      'inside other texts are not found. Nothing is erased before you have seen the places.',
    subject: 'Name of the person',
    look: 'Look for it',
    states: { asked: 'begins', running: 'runs', done: 'done.', failed: 'failed: a record is damaged.' },
    search: 'Search for a person',
    erased: (values: number) => `${counted(values, 'value')} erased.`,
  },
} as const

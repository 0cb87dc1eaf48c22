import { counted, few } from './counted.ts'

export const proof = {
  intro: 'A bundle proves the whole history offline. Choose what its reader may see. Everything else stays a hash.',
  fields: 'Fields that the reader may see',
  files: 'Files whose name, type and hash the reader may see',
  history: 'Let the reader see whether there are later events',
  historyHint: 'It discloses where the log holds them: that they exist and when, not what they say.',
} as const

export const share = {
  title: (name: string) => `Share “${name}”`,
  sees: 'Everyone with the link sees',
  always: 'State and kinds of events',
  alwaysHint: (events: number, files: number) =>
    `${counted(events, 'event')} and ${counted(files, 'file')}: how many, when, and which fields each sets. ` +
    'Always shown, so that no link can hide a theft.',
  groups: {
    name: 'Name',
    owner: 'Owner',
    ids: 'Your id and company',
    facts: 'Facts',
    persona: 'Who did it',
    texts: 'Texts of the events',
    category: 'Category',
  },
  hints: {
    name: few,
    owner: (owners: readonly string[]) => `${few(owners)}; never one after`,
    ids: few,
    facts: few,
    persona: few,
    texts: ({ length }: readonly string[]) => `${counted(length, 'text')}, which can name people and places`,
    category: (names: readonly string[]) => `${names.join()}, and the ids of both`,
  },
  cover: 'Cover photo',
  names: (names: readonly string[]) => `with the name ${names.join(', ')}`,
  place: (name: string, isKnown: boolean) =>
    isKnown ? `${name} says where it was taken` : `${name} could not be looked into: it may say where it was taken`,
  files: (count: number) => counted(count, 'file'),
  allFiles: 'all files',
  onlyState: 'Only its state',
  duration: 'For how long',
  durations: (days: number) =>
    days === Infinity ? 'Until I end it' : days === 365 ? '1 year' : `${days.toLocaleString()} days`,
  upTo: (version: number) =>
    `It shows this as of event ${version}. Of later events it shows only kind, state and time.`,
  endsWithKey: (name: string) => `It ends early if the key “${name}” is deactivated, and not when it is rotated.`,
  preview: 'A stranger sees',
  hidden: 'not shown',
  history: (events: number, date: string) => `${counted(events, 'event')} since ${date}`,
  make: 'Make the link',
  changed:
    'Someone changed this record meanwhile, or the response of the server was lost. The link was ended again: ' +
    'open this page again, and look at what it would show.',
  creationOnly: 'A link that shows only that the creation is recorded',
  intro:
    'Anyone with this link can verify one event: the creation. It shows no name, owner or description, and no ' +
    'later event, such as a theft.',
  madeTitle: 'The link is ready',
  shows: (what: string) => `${what}, as of now. Its state is always the one at the moment.`,
  ends: (time: string) => `Until ${time}.`,
  endless: 'Until someone ends it.',
  once: 'It is shown once: the registry keeps only its hash. For another one, make a new link.',
  copy: 'Copy the link',
  kept: 'I have copied or printed it',
  done: 'Done',
  qr: 'QR code of the link',
  links: 'Links',
  linksTitle: (name: string) => `Links to “${name}”`,
  manage: 'Manage',
  create: 'New link',
  noneOpen: 'No link is open.',
  openCount: (count: number) =>
    `${count} of at most 100 are open. If you end the link of a certificate, its printed code shows nothing.`,
  otherKey: 'another key',
  used: 'Last used',
  unused: 'Not used',
  untilEnded: 'until someone ends it',
  endsOn: 'ends',
  ended: 'ended',
  end: 'End now',
} as const

export const localAddress = {
  works: {
    computer: 'Links and codes of this registry work only on this computer.',
    network: 'Links and codes of this registry work only in this network.',
  },
  why: (host: string) =>
    `Their address is ${host}, so a stranger cannot open them. The operator of the server must set ` +
    'EVIDENCE_PUBLIC_URL to its address on the internet. Links that were made before keep the old address.',
} as const

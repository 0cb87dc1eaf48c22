export const certificate = {
  title: 'Certificate of registration',
  print: 'Print or save as PDF',
  printCode: 'Print with a code',
  printLimited: 'Print with a code for 30 days',
  printPlain: 'Without a code',
  withoutPhoto: 'The code does not show the photo, because it says, or may say, where it was taken.',
  content: 'Present state',
  notStolen: 'Not reported stolen',
  hidden: 'Not disclosed',
  since: (date: string) => `since ${date}`,
  issued: (time: string) => `Issued ${time}`,
  proven: {
    independent: (time: string) => `Proven by ${time}`,
    own: (time: string) => `Stamped on ${time} by the operator itself`,
    none: () => 'No time is proven yet',
  },
  statedBy: {
    independent: (name: string) => `The time is that of ${name}.`,
    own: () => "It is the time of the operator's own test authority or ledger: it proves no time to others.",
  },
  unstamped: (version: number, leaf: number) =>
    `Event ${version} is sealed in the log as leaf ${leaf.toLocaleString()}, without a time stamp. Print again once ` +
    'it has one.',
  codeShows: 'The code shows the state at the moment you scan it, also a theft that is reported later.',
  asOf: (size: number, hasCode: boolean) =>
    `As of log size ${size.toLocaleString()}. Later events, such as a theft, are not on this paper: ` +
    `${hasCode ? 'scan the code' : 'ask the company'}. All times are UTC.`,
  registry: 'Registry',
  compare: 'Your device shows these words when it meets this registry for the first time. They must be the same.',
  sealOf: (version: number, name: string) => `Seal of event ${version}, ${name}`,
  creationLink: 'Verify event 1',
  newest: 'Newest events first',
  further: (count: number) =>
    count === 1 ? '1 further event is on the next page.' : `${count} further events are on the next page.`,
  newOwner: (owner: string) => `to ${owner}`,
  noOwner: 'to no owner',
  bytes: 'Bytes',
  what: 'Event',
  notLaterThan: 'Stamped or anchored',
  history: 'History, newest event first',
  provenText: 'What this paper shows, up to its newest event, is as it was recorded.',
  provenCreation: 'One event, the creation, is in the log. Later events, such as a theft, are not in this proof.',
  notProven: 'What is not proven',
  notProvenText:
    'That the content is true, that it is complete, or who acted; and that nothing happened later, such as a ' +
    'theft. Names and the time of recording are the word of the registry.',
  statedTime: 'Recorded, as stated',
  scan: 'Scan to verify the creation',
  scanState: 'Scan for the present state',
  scanUntil: (time: string) => `Scan for the state until ${time}`,
  transaction: 'Anchor transaction',
  checkpoint: 'Checkpoint',
  fingerprint: 'Hashes',
  pending: 'The newest event is not sealed yet. The certificate appears here as soon as it is.',
} as const

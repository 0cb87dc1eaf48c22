export const evidence = {
  data: 'Facts',
  ids: 'Ids',
  actions: 'Actions',
  files: 'Photos and files',
  history: 'History',
  newestFirst: 'newest first',
  sections: { photos: 'Photos', history: 'History', facts: 'Facts' },
  show: 'Show',
  isRecorded: (what: string) => `${what}. Sealing …`,
  isProven: 'Recorded, sealed, stamped and anchored',
  ofCreation: 'proof of the creation',
  leaf: (index: number) => `leaf ${index.toLocaleString()}`,
  copyTxId: 'Copy txId',
  hashes: (files: number) => (files === 0 ? 'Hashes' : files === 1 ? 'Hashes and 1 file' : `Hashes and ${files} files`),
  created: 'Created',
  txId: 'txId of the creation',
  txIdHint: 'the commitment of this registry, not a transaction of a chain',
  proof: 'Download proof',
  share: 'Share',
  certificate: 'Certificate',
  erase: 'Erase …',
  noFiles: 'No file is attached.',
  ofCategory: 'of the category',
  ofSubcategory: 'of the subcategory',
  uploading: (percent: number) => `Uploading: ${percent} %`,
  download: 'Download',
  preview: 'Preview',
  deleteTitle: (name: string) => `Delete ${name}?`,
  deleteIntro:
    'The bytes are destroyed, and its name and hash are erased. Only earlier backups of the registry may still ' +
    'have them. The history keeps a commitment, from which they cannot be derived, and a delete event.',
  eventNames: { create: 'Created', update: 'Updated', transfer: 'Transferred' },
  updateNames: {
    stolen: 'Reported stolen',
    found: 'No longer stolen',
    stolenOrFound: 'Reported stolen, or no longer',
    repair: 'Repaired',
    custom: 'Note',
    change: 'Changed',
    addfile: 'Files attached',
    deletefile: 'File deleted',
  },
  sendStatus: {
    P: { short: 'Sealed', long: 'sealed in a batch; not sent to a chain yet, or the registry uses none' },
    S: { short: 'Anchoring', long: 'its anchor transaction is sent' },
    C: { short: 'Anchored', long: 'its anchor transaction is confirmed' },
    null: { short: 'Sealing', long: 'waits for the next batch' },
  },
  version: (version: number) => `Version ${version}`,
  /** Followed by the time. */
  erased: (field: string) => `${field}: erased on`,
  changes: 'What this event changed',
  fileChanges: { attached: 'Attached', deleted: 'Deleted' },
} as const

export const files = {
  camera: 'Take a photo',
  choose: 'Choose files',
  drop: 'or drop them here',
  chosen: 'Chosen files',
  leaveOut: 'Leave out',
  tooLarge: (names: readonly string[], max: string) => `Too large: ${names.join(', ')}. A file has at most ${max}.`,
  notShown: (type: string) => `This browser cannot show this file (${type}). Download it.`,
} as const

/** What is recorded about an evidence. */
export const change = {
  stolen: {
    verb: 'Report stolen',
    title: 'Report as stolen',
    intro:
      'The report stays in the history for ever. You can record that it was found, but not take the report back. ' +
      'A proof or a paper from before the report does not show it; a link or the code of a certificate does.',
  },
  found: { verb: 'No longer stolen', title: 'Record that it was found', intro: '' },
  repair: { verb: 'Record repair', title: 'Record a repair', intro: '' },
  transfer: {
    verb: 'Transfer',
    title: 'Transfer to another owner',
    intro: 'A transfer is an event, which stays in the history for ever.',
  },
  attach: {
    verb: 'Attach',
    title: 'Attach photos or files',
    intro: 'Attaching records an event, which stays in the history for ever.',
  },
  change: { verb: 'Change', title: 'Change name and facts', intro: '' },
  whatHappened: 'What happened',
  remark: 'Remark',
  personHint: 'A person or a workshop. The history shows it; that your key was used is recorded anyway.',
  nothingChanged: 'Nothing is changed yet',
  chooseFiles: 'Choose at least one file',
  loadNewest: 'Load the newest, keep my text',
  meanwhile: 'Recorded meanwhile:',
  perhapsYours: 'Your last request may have been recorded, and this one was not sent yet. Recorded meanwhile:',
  newest: (text: string) => (text === '' ? 'The newest is empty' : `The newest: ${text}`),
} as const

/** The fields of events. */
export const fields = {
  name: 'Name',
  owner: 'Owner',
  status: 'State',
  description: 'Description',
  summary: 'Summary',
  externalId: 'External id',
  meta: 'Facts',
  files: 'File',
  personaName: 'Who did it',
  eventDescription: 'Description of the event',
  updateDescription: 'Description of the update',
  company: 'Company',
  actor: 'Key',
  evidence: 'Evidence id',
  action: 'Type of event',
  categoryId: 'Category',
  subcategoryId: 'Subcategory',
  imageId: 'Photo',
  slotKey: 'Place of later events in the log',
} as const

export const form = {
  idHint: 'Serial or inventory number',
  moreFacts: 'More facts',
  submitCreate: 'Record evidence',
  categoryHint: 'A name that does not exist yet is created.',
  presentOwner: 'Present owner',
  newOwner: 'New owner',
  newOwnerUnchanged: 'This is the present owner: enter another one',
} as const

/** Rows of name and value. */
export const facts = {
  title: 'Facts',
  json: 'Facts as JSON',
  asJson: 'Edit as JSON',
  asRows: 'Edit as rows',
  parts: { name: 'Name', value: 'Value' },
  label: (row: number, part: string) => `Fact ${row}, ${part}`,
  remove: (row: number) => `Remove fact ${row}`,
  wrongNames: 'Each fact needs a name, and no other fact has it',
} as const

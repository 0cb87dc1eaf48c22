/** What a stranger sees by a link. */
export const passport = {
  checking: 'Being checked on this device …',
  thing: 'The thing',
  ended: 'This link shows nothing',
  endedText:
    'It was ended, its time is over, or a part of it is missing. The registry does not say which. Ask the person ' +
    'who gave it to you for a new one.',
  endedWarning: 'That says nothing about the thing.',
  endedAdvice: 'Do not take it for “not stolen”.',
  checkFile: 'Check a proof you have as a file',
  isNew: 'A registry that is new to this device.',
  completeNow: (events: number, time: string) =>
    `Complete up to event ${events}, as the registry knows it now (${time}).`,
  onlyRegistry: 'Only the registry can say whether there is a later one.',
  notSealed: (events: number) =>
    `Event ${events} is recorded, but not sealed yet: until then it is only the word of the registry. Open the ` +
    'link again in some seconds.',
  stolenSince: (time: string) => `Since ${time}.`,
  neverStolen: (date: string) => `Never, since it was recorded on ${date}`,
  foundOn: (date: string) => `No longer, since ${date}`,
  itsWord: 'says this registry, which you do not know yet',
  itsWordNow: 'says this registry; not all of it is sealed yet',
  ownerBefore: 'Owner before',
  recordedBy: 'Recorded by',
  anotherSince: (date: string) => `Another since ${date}`,
  newOwner: (date: string) => `It has another owner since ${date}.`,
  newOwnerHint: 'This link is older and does not say who. Ask for a link of the present owner.',
  notShown: 'not shown by this link',
  laterEvents: 'Of what happened after the link was made, only kind and time are shown.',
  hiddenFields: (names: string) => `Not shown by this link: ${names}.`,
  hiddenFiles: (count: number) => (count === 1 ? '1 file' : `${count.toLocaleString()} files`),
  filedUnder: (path: string) => `The registry files it under ${path}; no proof covers that.`,
  checkedHere: 'The thing, its state and its history were checked on this device.',
  otherFile: (name: string) => `${name} is not shown: what the registry sent is not the file that was recorded.`,
  saveProof: 'Save this proof as a file',
  checkElse: 'Check something else',
} as const

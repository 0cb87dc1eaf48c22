/** What the embedded authority and ledger are. */
export const ownTest = {
  authority: "the operator's own test authority: proves no time to others",
  ledger: "the operator's own test ledger: proves no time to others",
  short: "operator's own test",
  note: "“Operator's own test” is the operator's own test authority or ledger: it proves no time to others.",
} as const

/** By what a registry is recognized. */
export const trust = {
  picture: 'Picture of the fingerprint',
  words: 'Words of the fingerprint',
  isReal: (host: string) => `Is this the real ${host}?`,
  compare:
    'Anyone can set up a page that looks like this. These eight words belong to this registry alone. Compare them ' +
    'with those on the certificate, and on the pages of shops and insurers that use the registry.',
  paper:
    'A paper from the seller alone proves nothing: a person who fakes a registry prints its certificate, too. Ask ' +
    'the shop, the maker or your insurer.',
  trust: 'Trust this registry on this device',
  differ: 'They differ',
  proven: (date: string) => `Proven by the keys that you trusted on ${date}`,
  noTime: 'No time is stated by others yet',
  statedTime: (time: string) => `Time: ${time}, say authorities that the registry names itself`,
  changed: 'Stop: the keys have changed',
  changedText: (date: string) =>
    `This page is not signed by the registry that you trusted on ${date}. It can be an imitation. Do not pay ` +
    'because of it.',
  differs: 'Stop: the words differ',
  differsText: 'This is not the registry that you compared it with. It can be an imitation. Do not pay because of it.',
  nothingShown: 'Nothing that it says is shown.',
  trusted: 'You trusted',
  signsNow: 'What signs here now',
  otherKey: 'Another key. No handover in the log of the registry leads to it.',
  toDo: 'What to do',
  steps: [
    ['Type the address of the registry yourself', 'Or scan the code of a certificate that is not from this seller.'],
    ['Ask the operator of the registry', 'A registry that changes its key hands over to the new one in its log.'],
    [
      'Keep what you saw',
      'The file helps them to find an imitation. It holds the proof of this page, nothing of yours.',
    ],
  ],
  keepSent: 'Save what this page sent',
  forget: 'Forget what I trusted on this device',
  forgetHint:
    'Only if the operator of the registry told you, on the telephone or on paper, that it was set up again from ' +
    'nothing. It is then new to you, and you compare its eight words again.',
  forgetIt: 'Forget it',
} as const

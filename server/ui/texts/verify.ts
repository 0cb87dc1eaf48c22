/** Of a saved page that is about one proof. */
export const report = {
  custody: 'Custody: each event, and each check',
  check: 'Check it without this page',
  whoMadeIt:
    'Another party made this page, and could have changed what it says. What convinces is a check by a program that ' +
    'you got yourself:',
  steps: [
    'Save the proof. It is a file of text that holds all that a check needs.',
    'Get the policy of the log, which holds its keys, from a source that you trust, and not from this page.',
    'Get a verifier from a source that you trust: verify.py for Python, or verify.mjs for Node.',
    'Run: python3 verify.py proof.evidence.json --policy policy.json',
  ],
  saveProof: 'Save the proof',
  qualified:
    'Not checked: whether an authority that stamped the record was qualified in the EU at that time. Look for its ' +
    'name in the trusted lists:',
} as const

export const verify = {
  title: 'Verify a proof',
  intro: 'Everything is checked in this browser. Files are hashed here and never uploaded.',
  drop: 'Drop a proof (a .json bundle) and files that it should contain here',
  choose: 'or choose them',
  linkHint: 'Fetches the public proof of this record',
  fetch: 'Fetch and verify',
  policy: 'Policy that you trust',
  policyHint: 'Without your own policy file, the result only shows what this server says about itself.',
  policyFrom: {
    document: 'In use: what the proof says about itself',
    service: 'In use: the policy of this server',
    report: 'In use: that of the party that made this report. With one from a source that you trust, it can be Proven.',
    file: 'In use: your file',
  },
  savePage: 'Save this page as one file that works without the server',
  working: 'Checking …',
  first: 'Check a proof',
  another: 'Check another proof',
  keep: 'Keep this page',
  detailsHint: 'steps, stamps, hashes',
  record: 'The record',
  noNames: 'Names are not disclosed',
  ownedBy: (owner: string) => `Owner ${owner}`,
  ownerHidden: 'Present owner not disclosed',
  nameHidden: 'Present name not disclosed',
  stateHidden: 'Present state not disclosed',
  earlier: (text: string, version: number) => `at event ${version}: ${text}`,
  existed(date: string | undefined, count: number) {
    const [events, have, were] =
      count === 1 ? ['Event 1', 'has', 'it was'] : [`Events 1 to ${count}`, 'have', 'they were']
    return date === undefined
      ? `${events} ${have} not changed since ${were} recorded.`
      : `${events} existed on ${date} and ${have} not changed since.`
  },
  existedEvent: (date: string | undefined) =>
    (date === undefined
      ? 'This one event has not changed since it was recorded.'
      : `This one event existed on ${date} and has not changed since.`) +
    ' Later events, such as a theft, are not in it.',
  localTime: "Its time is only the word of the operator's own test authority or ledger: it proves no time to others.",
  fileVerdicts: {
    matches: { word: 'is in this proof.', sentence: 'It has exactly the content that the proof shows.' },
    'not-in-this-proof': {
      word: 'is not in this proof.',
      sentence:
        'It is another file, or a copy that was changed: messengers make photos smaller. ' +
        'The verdict is about the record.',
    },
    'not-comparable': {
      word: 'cannot be compared.',
      sentence: 'The proof does not show the hashes of all files of the record. The verdict is about the record.',
    },
  },
  leaveOut: 'Leave it out',
  verdicts: {
    proven: { word: 'Proven', sentence: '' },
    consistent: {
      word: 'Consistent with the keys that the file itself states',
      sentence: 'Everything fits together, but so far only the file vouches for itself.',
    },
    pending: {
      word: 'Not sealed yet',
      sentence: 'Nothing is wrong, but the newest event is not in a signed tree yet. Verify again in a few seconds.',
    },
    'retired-key': {
      word: 'Signed with a retired key',
      sentence: 'The policy retired the key that signed this proof. Ask for a new proof.',
    },
    'newer-key': {
      word: 'Signed with a newer key',
      sentence: 'The policy does not know the key that signed this proof. Fetch the newer policy.',
    },
    'other-log': {
      word: 'Unknown log',
      sentence: 'This proof belongs to another registry, so it cannot be judged with the keys loaded here.',
    },
    requirement: {
      word: 'Something is missing',
      sentence: 'The proof holds, but something that is required is missing.',
    },
    unreadable: {
      word: 'Not a readable proof',
      sentence: 'It is not whole, another version made it, or it is beyond a limit. Nothing is said about the record.',
    },
    changed: {
      word: 'Changed by a program',
      sentence: 'It does not have the form that the registry writes. Nothing is said about the record.',
    },
    refuted: { word: 'Forged or damaged', sentence: 'This is not what was recorded. Do not rely on it.' },
  },
  /** Of a proof that the page asked its own registry for. */
  ownKeys: {
    word: "Consistent with this registry's own keys",
    sentence: 'Everything fits together, but so far only this registry vouches for itself.',
  },
  itProves: 'It proves',
  itProvesNot: 'It does not prove',
  existedBy: (time: string, isHistory: boolean) => `${isHistory ? 'The record' : 'This one event'} existed by ${time}`,
  namedTime: (time: string) => `The time, ${time}: only authorities that the registry names itself say it`,
  ifConfirmed: 'if a node confirms the block',
  proves: {
    proven: ['What is shown is as it was recorded', 'A log of which you pinned a key signed it'],
    consistent: ['The record fits the log of this proof'],
    pending: ['What is shown fits together'],
    'retired-key': ['What is shown fits together'],
    'newer-key': ['What is shown fits together'],
    'other-log': [],
    requirement: ['The record fits the log of this proof'],
    unreadable: [],
    changed: [],
    refuted: [],
  },
  provesNot: {
    proven: [
      'That nothing was recorded later, such as a theft',
      'That what was entered is true',
      'Who entered it, and the stated time of each event',
    ],
    consistent: [
      'That the registry is the one you mean: load its policy',
      'That nothing was recorded later, such as a theft',
      'That what was entered is true, or who entered it',
    ],
    pending: ['That the registry keeps it: it is in no signed tree yet'],
    'retired-key': ['That the log signed it before the key was retired'],
    'newer-key': ['That the key belongs to the log', 'That it is forged: nothing is wrong so far'],
    'other-log': ['Anything that it shows: only its form was checked', 'That it is forged'],
    requirement: ['What your policy or you require'],
    unreadable: ['Anything that it shows: it was not checked to the end', 'That it is forged'],
    changed: ['Anything that it shows: only its form was checked', 'That it is forged'],
    refuted: ['Anything that it shows', 'Who changed it, or whether by accident'],
  },
  saysStolen: 'The record says: reported stolen.',
  stolenAdvice: 'Do not buy it; tell the police.',
  saidStolen: (version: number) => `At event ${version} the record says: reported stolen.`,
  saidStolenAdvice:
    'A later event repeats or ends this: this proof hides which. Do not buy it without a proof that shows it.',
  hidesState: 'This proof hides whether the thing is reported stolen.',
  hidesStateAdvice: 'Do not buy it without a proof that shows the state.',
  complete: (events: number) =>
    `No event up to event ${events} is missing. Later events, such as a theft, are not in it.`,
  oneEvent: 'One event, not the whole history. Later events, such as a theft, are not in it.',
  onlyRegistry: 'Whether there are any, only the registry can say.',
  ask: 'Ask the registry',
  later: (version: number) => `The registry says that there are later events: the newest is event ${version}.`,
  noneLater: 'The registry says that there is none later.',
  knownOnly:
    'The registry knows this proof, but says whether there are any only to a key of its company: sign in with one, ' +
    'or ask the owner for the present proof.',
  notKnown: 'The registry does not know the newest event of this proof.',
  stepStates: { ok: 'ok', named: 'named by the registry', failed: 'failed', skipped: 'not checked' },
  steps: 'Steps',
  stepNames: {
    document: 'The document is well-formed',
    inclusion: 'The event is in the tree',
    checkpoint: 'A key of the log signed the tree',
    timestamp: 'A timestamp authority stamped the tree',
    anchor: 'The chain holds the anchored tree',
    witnesses: 'Witnesses cosigned the tree',
    expected: 'The proof is about what was expected',
    keys: 'The keys are those of the log',
    events: 'Every event hashes to its txId',
    attestations: 'The cosignatures, stamps and anchors are valid',
    history: 'The events are one history without a gap',
    content: 'Your file has the hash of a file of the record',
  },
  unchecked: 'What could not be checked',
  present: (name: string, isStolen: boolean, owner: string | undefined) =>
    `At present \u2068${name}\u2069 ${isStolen ? 'is reported stolen' : 'is not reported stolen'}, ` +
    `and has ${owner ? `the owner \u2068${owner}\u2069` : 'no owner'}.`,
  newest: (event: string, age: string) => `Newest event: ${event}, ${age}.`,
  notLaterThan: 'Existed not later than',
  txId: 'txId',
  position: 'Position in the log',
  hidden: 'Hidden fields',
  hiddenFiles: 'Hidden files',
  deleted: 'Deleted file',
  stated: 'Recorded, as the registry states',
  event: (version?: number, action?: string) =>
    (version === undefined ? 'Event' : `Event ${version}`) + (action === undefined ? '' : `: ${action}`),
  /** What a receipt says. Without its text, the time is not known. */
  erased: (date?: string) => (date === undefined ? 'Receipt of an erasure' : `Erased on ${date}`),
  ambiguous: 'Several records have this external id. Choose one:',
  shortForm:
    'This is the short form of a proof. Fetch the proof bundle from the server (?format=bundle), and drop it here.',
  shortFormFetched:
    'This is the short form of a proof. The server was asked for the proof bundle of the same event, verified here.',
  badPolicy: (why: string) => `The policy cannot be read, so nothing was checked. ${why}`,
  noDocument: (why: string) => `This is not a proof: ${why}`,
  needProof: 'Drop the proof, then the files that it should contain. No proof was dropped yet.',
  oneProof: ([checked = '', ...others]: readonly string[]) =>
    `Only ${checked} is checked here. Not checked: ${others.join(', ')}. Drop one proof at a time.`,
} as const

import { counted } from './counted.ts'

export const log = {
  title: 'Log',
  intro: 'One list of all events of all companies, only ever added to',
  checkpoint: 'Newest checkpoint',
  checkpointNote: 'origin, entries, root and signatures',
  size: 'Entries',
  root: 'Root',
  empty: 'Nothing is sealed yet. Create an evidence: its batch is sealed within seconds.',
  policy: 'Policy',
  policyIntro: 'What a verifier pins: keys, witnesses, timestamp authorities and chains. Save it before you need it.',
  downloadPolicy: 'Download policy (JSON)',
  downloadText: 'Download policy (C2SP text)',
  keys: 'Checkpoint keys',
  authorities: 'Timestamp authorities',
  chains: 'Chains',
  fingerprint:
    'The fingerprint of this registry. It stands on every certificate. Show it on your own web page, too, so that ' +
    'buyers can compare it.',
  witnesses: 'Witnesses',
  witnessesNote: 'each signs only what continues what it signed before',
  quorum: (needed: number, names: readonly string[]) => `${needed} of ${names.length}: ${names.join(', ')}`,
  cosigned: (size: number) => `signed ${size.toLocaleString()} entries`,
  notCosigned: 'has not signed yet',
  resume: (name: string) => `evidence-registry witnesses resume ${name}`,
  alarms: {
    WITNESS_OTHER_HISTORY:
      'It says that it has signed another history of this log, and is asked no more. The operator finds out why, ' +
      'then has it asked again:',
    WITNESS_AHEAD: 'It has signed more entries than this log has. The operator must find out why.',
  },
  batches: 'Batches',
  batchesNote: 'each is one signature over all entries so far',
  added: 'New',
  anchor: 'Anchor',
  growth: 'Growth',
  growthSummary: (from: number, to: number) => `from ${from.toLocaleString()} to ${to.toLocaleString()} entries`,
  lag: 'From seal to block',
  lagSummary: (longest: string, waiting: number) =>
    `at most ${longest}${waiting === 0 ? '' : `; ${counted(waiting, 'batch', 'batches')} without a block yet`}`,
  noAnchor: 'No batch is anchored yet.',
  tree: 'The tree of the log at the end of the batch, with the path from the leaf to the root',
  treeLegend:
    'Blue: the path from the leaf to the root. Blue outline: the hashes of the proof. Squares are leaves, ' +
    'underlined ones are in this batch. A triangle stands for a subtree, with the number of its leaves.',
  leaves: (start: number, end: number) => (end - start === 1 ? `Leaf ${start}` : `Leaves ${start} to ${end - 1}`),
  find: 'Find a transaction',
  findHint: 'A txId of 64 hex digits',
  path: 'Path from the leaf to the root',
  leaf: 'Leaf',
  sibling: (side: string) => `sibling on the ${side}`,
  batch: 'Batch',
  batchSize: 'Entries of the batch',
  stamp: 'Time stamp',
  vouches: 'Time',
} as const

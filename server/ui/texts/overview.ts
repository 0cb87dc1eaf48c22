import { levels } from './access.ts'
import { counted } from './counted.ts'

export const overview = {
  title: 'Overview',
  asOf: 'as of',
  inCategories: (categories: number, subcategories: number) =>
    `${counted(categories, 'category', 'categories')}, ${counted(subcategories, 'subcategory', 'subcategories')}`,
  ofAll: 'at present',
  eventsToday: 'Events today',
  createdToday: (today: number, week: number) =>
    `${today.toLocaleString()} created, ${week.toLocaleString()} in 7 days (UTC)`,
  waitingForProof: 'Waiting for proof',
  waitingFor: (blocks: number) => `for the next seal${blocks > 0 ? `; ${blocks.toLocaleString()} for a block` : ''}`,
  pipeline: 'From record to proof',
  wholeLog: 'The whole log, all companies',
  recorded: 'Recorded',
  sealed: 'Sealed',
  stamped: 'Stamped',
  anchored: 'Anchored',
  waiting: (count: number) => (count === 1 ? '1 waits' : `${count.toLocaleString()} wait`),
  block: (number: number) => `block ${number.toLocaleString()}`,
  perDay: 'Created per day',
  perDaySummary: (days: number, max: number, today: number) =>
    `Evidences created on each of the last ${days} days in UTC, at most ${max}; today ${today} so far`,
  period: 'Period',
  days: (count: number) => `${count} days`,
  todayLabel: 'today',
  lastChanged: 'Changed last',
  all: 'All evidences',
} as const

export const health = {
  title: 'Health',
  healths: { ok: 'All well', degraded: 'Degraded' },
  recording: 'Recording',
  sealing: 'Sealing',
  stamping: 'Stamping',
  anchoring: 'Anchoring',
  backup: 'Backup',
  disk: 'Disk',
  entries: (count: number) => `${count.toLocaleString()} entries in the log`,
  waiting: (count: number) => (count > 0 ? `${count.toLocaleString()} in the log wait` : 'nothing waits'),
  notYet: 'none yet',
  noAuthority: 'no timestamp authority is set up: proofs show no time. The operator sets EVIDENCE_TSA',
  noChain: 'no chain is set up. The operator sets EVIDENCE_ANCHOR',
  notSeen: 'not reported to this page',
  backedUp: 'complete',
  oldBackup: 'The last one is more than a day old: run evidence-registry backup again',
  noBackup: 'None was made by this server. To make one, run evidence-registry backup --to DIR',
  diskUse: (used: number, free: string) => `${Math.round(100 * used)} % used, ${free} free`,
  diskLow: (free: string) => `Only ${free} are free: free some space, or enlarge the volume`,
  degraded: 'Something does not work as it should. What is recorded is safe; ask the operator of this registry.',
} as const

export const firstRun = {
  title: 'Record a thing. Prove it later.',
  intro: 'Four steps, about two minutes, and you have seen all of it.',
  label: 'First steps',
  key: 'Create a key',
  keyText: 'Programs and people record with a key of their company. The first key creates the company.',
  keyDone: ({ name, permissions }: { name: string; permissions: keyof typeof levels }, company: string) =>
    `“${name}” of ${company} ${levels[permissions]}.`,
  keyName: 'Front desk',
  createKey: 'Create the key',
  evidence: 'Record your first evidence',
  evidenceText: 'A thing you can photograph now: a tool, a bike, this computer.',
  evidenceDone: (externalId: string) => `${externalId} is recorded.`,
  category: { categoryName: 'Things', subcategoryName: 'Other' },
  watch: 'Watch it being proven',
  watchText: 'Nothing more to do: this page shows how far it is.',
  when: {
    recorded: 'at once',
    sealed: 'within seconds',
    stamped: 'with the next stamp',
    anchored: 'with the next anchor',
    never: 'not set up',
  },
  states: {
    recorded: 'Recorded. It waits for the next batch.',
    sealed: 'Sealed. It waits for its time stamp.',
    stamped: 'Stamped. It waits for its block.',
    anchored: 'Anchored.',
  },
  verify: 'Verify it as a stranger would',
  verifyText: 'Here, or with a phone: print its certificate with a code, and scan it.',
  verifyNow: 'Verify it now',
  program: 'Connecting a program instead?',
  hide: 'Hide these steps',
  samples: 'Load sample data instead',
  samplesStay:
    'Twelve evidences are recorded in the company sample-data. They stay in the log of this registry for ever.',
  loadSamples: 'Load sample data',
} as const

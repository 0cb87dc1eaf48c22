import { constants } from 'node:os'
import { pick, randomFrom } from '../../support/bundle-mutations.ts'
import type { SystemCall, SystemFault } from '../interposer/index.ts'

/** When calls fail. `first start`: in a new data directory. `second start`: in one that holds data. */
type Phase = 'first start' | 'second start' | 'writing'

type ErrorName = 'EIO' | 'ENOSPC' | 'EMFILE' | 'EROFS'

export interface FaultPlan {
  readonly phase: Phase
  readonly error: ErrorName
  readonly fault: SystemFault
  /** Whether the calls work again before the server is killed, and the server must then write again. */
  readonly recovers: boolean
}

/** The errors that Linux returns for each kind of call. */
const ERRORS: Readonly<Record<SystemCall, readonly ErrorName[]>> = {
  open: ['EMFILE', 'EIO', 'ENOSPC', 'EROFS'],
  write: ['EIO', 'ENOSPC'],
  sync: ['EIO', 'ENOSPC'],
  rename: ['EIO', 'ENOSPC', 'EROFS'],
  link: ['EIO', 'ENOSPC', 'EROFS'],
  unlink: ['EIO', 'EROFS'],
  read: ['EIO'],
}

/** Parts of the paths that a server uses at its start. The first one matches every file of the data directory. */
const START_PATTERNS = [
  '/',
  '/records/',
  '/records/db/',
  '/blobs/',
  '/ledger/',
  '/tsa/',
  'signed-head',
  'registry.json',
]

/** Parts of the paths on which each kind of call occurs while a server writes. It makes links only at its start. */
const WRITE_PATTERNS: Readonly<Record<SystemCall, readonly string[]>> = {
  open: ['/', '/blobs/content', 'signed-head'],
  write: ['/', '/records/db/', '/blobs/content', 'signed-head', '/ledger/', '/tsa/'],
  sync: ['/', '/records/db/', '/blobs/content', 'signed-head', '/ledger/'],
  rename: ['signed-head', '/tsa/'],
  link: [],
  unlink: ['/blobs/content'],
  read: ['/ledger/'],
}

/** The numbers of errors on this system. */
export const numberOf = (error: ErrorName): number => constants.errno[error]

const CALLS = Object.keys(ERRORS) as SystemCall[]
const FOREVER = 1_000_000
/** The first call that fails is one of so many. */
const MAX_NTH = 6

const STARTS = ['first start', 'second start'] as const
const PHASES = ['writing', 'writing', 'writing', 'writing', ...STARTS] as const

/** Cases go through the calls in turn, and a third of them fails during a start. */
export function planOf(seed: number): FaultPlan {
  const random = randomFrom(seed)
  const call = CALLS[seed % CALLS.length] as SystemCall
  const phase = pick<Phase>(random, WRITE_PATTERNS[call].length === 0 ? STARTS : PHASES)
  const error = pick(random, ERRORS[call])
  const pattern = pick(random, phase === 'writing' ? WRITE_PATTERNS[call] : START_PATTERNS)
  const nth = 1 + Math.floor(random() * MAX_NTH)
  const count = pick(random, [1, 1, FOREVER])
  return { phase, error, fault: { call, errno: numberOf(error), nth, count, pattern }, recovers: seed % 4 === 0 }
}

/**
 * What the output of the server must contain if it refuses because of an error. LevelDB reports only the text of
 * strerror(3).
 */
export const WORDS: Readonly<Record<ErrorName, RegExp>> = {
  EIO: /EIO|i\/o error|input\/output error|disk fails/i,
  ENOSPC: /ENOSPC|no space left|disk is full/i,
  EMFILE: /EMFILE|too many open files/i,
  EROFS: /EROFS|read-only file system/i,
}

export const describePlan = ({ phase, error, fault: { call, nth, count, pattern } }: FaultPlan): string =>
  `${error} of ${call} ${nth}${count === FOREVER ? ' and later' : ''} below "${pattern}", ${phase}`

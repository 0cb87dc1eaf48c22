/** When the process is stopped: before the call has any effect, or after it, and before the program continues. */
export type StopWhen = 'before' | 'after'

/** The functions outside the product that the preload can stop at. */
export type OutsideCall = 'open' | 'write' | 'sync' | 'link' | 'unlink' | 'rename' | 'writeSync' | 'batch'

/** Where the preload kills the process. */
export interface StopAt {
  readonly call: OutsideCall
  /** Source of a regular expression. */
  readonly pattern: string
  readonly nth: number
  readonly when: StopWhen
}

/** The control: commits of evidences are acknowledged, but not written. */
export const DROP_EVIDENCES = 'drop evidences'

/** A named point at which the server is killed. */
export interface KillPoint {
  readonly name: string
  /**
   * `first start`: in a new data directory. `second start`: in one that the load has filled. `load`: while it writes.
   */
  readonly phase: 'first start' | 'load' | 'second start'
  readonly call: OutsideCall
  /** Matches the path (of a rename or link: the new path). Of a batch: the key of a record in it. */
  readonly pattern: RegExp
  /** The process is stopped at one of the first so many calls. */
  readonly maxNth: number
}

const BLOB = /blobs\/content\/..\/./
const HEAD_FILE = /\.signed-head\.json\./

/** Every kind of write that the server makes durable, in the order in which a registry makes them. */
export const KILL_POINTS: readonly KillPoint[] = [
  { name: 'secret created', phase: 'first start', call: 'link', pattern: /\/secret$/, maxNth: 1 },
  { name: 'checkpoint key created', phase: 'first start', call: 'link', pattern: /checkpoint-keys\.json$/, maxNth: 1 },
  { name: 'authority created', phase: 'first start', call: 'link', pattern: /tsa\/\w+\.\w+$/, maxNth: 3 },
  { name: 'ledger created', phase: 'first start', call: 'link', pattern: /ledger\/[\w.]+$/, maxNth: 3 },
  { name: 'first entry of the log', phase: 'first start', call: 'batch', pattern: /^lg$/, maxNth: 1 },
  { name: 'folder marker', phase: 'first start', call: 'rename', pattern: /registry\.json$/, maxNth: 4 },
  { name: 'upload intent', phase: 'load', call: 'batch', pattern: /^bi\//, maxNth: 40 },
  { name: 'blob created', phase: 'load', call: 'open', pattern: BLOB, maxNth: 40 },
  { name: 'blob bytes', phase: 'load', call: 'write', pattern: BLOB, maxNth: 60 },
  { name: 'blob sync', phase: 'load', call: 'sync', pattern: BLOB, maxNth: 40 },
  { name: 'blob folder sync', phase: 'load', call: 'sync', pattern: /blobs\/content\/..$/, maxNth: 40 },
  { name: 'creation', phase: 'load', call: 'batch', pattern: /^ev\//, maxNth: 40 },
  { name: 'update', phase: 'load', call: 'batch', pattern: /^vh\//, maxNth: 20 },
  { name: 'file deletion', phase: 'load', call: 'batch', pattern: /^bd\//, maxNth: 5 },
  { name: 'deleted blob removed', phase: 'load', call: 'unlink', pattern: /blobs\/content\//, maxNth: 5 },
  { name: 'high-water mark', phase: 'load', call: 'writeSync', pattern: /records\/witness$/, maxNth: 60 },
  { name: 'batch and tiles', phase: 'load', call: 'batch', pattern: /^ba\//, maxNth: 5 },
  { name: 'signed head bytes', phase: 'load', call: 'write', pattern: HEAD_FILE, maxNth: 5 },
  { name: 'signed head sync', phase: 'load', call: 'sync', pattern: HEAD_FILE, maxNth: 5 },
  { name: 'signed head named', phase: 'load', call: 'rename', pattern: /signed-head\.json$/, maxNth: 5 },
  { name: 'checkpoint', phase: 'load', call: 'batch', pattern: /^cp\//, maxNth: 5 },
  { name: 'last stamp named', phase: 'load', call: 'rename', pattern: /tsa\/last-stamp\.json$/, maxNth: 3 },
  { name: 'token', phase: 'load', call: 'batch', pattern: /^st\//, maxNth: 3 },
  { name: 'prepared anchor', phase: 'load', call: 'batch', pattern: /^an\//, maxNth: 2 },
  { name: 'ledger bytes', phase: 'load', call: 'write', pattern: /blocks\.jsonl$/, maxNth: 1 },
  { name: 'ledger sync', phase: 'load', call: 'sync', pattern: /blocks\.jsonl$/, maxNth: 1 },
  { name: 'confirmed anchor', phase: 'load', call: 'batch', pattern: /^ac\//, maxNth: 1 },
  { name: 'second names made', phase: 'second start', call: 'rename', pattern: /records\/links$/, maxNth: 1 },
  { name: 'second names released', phase: 'second start', call: 'rename', pattern: /links\.released$/, maxNth: 1 },
]

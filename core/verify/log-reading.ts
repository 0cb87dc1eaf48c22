import { fromHex, toHex } from '../bytes.ts'
import { parseOpening } from '../commitment/event-format.ts'
import { entryOf, isLaterKind, kindOf, type EntryKind } from '../commitment/log-entry.ts'
import { verificationError } from '../errors.ts'
import { TreeAccumulator } from '../log/tree/accumulator.ts'
import { leafHash } from '../log/tree/hash.ts'

/** The opening of a key entry, and its position in the log. */
export interface KeyEntry {
  readonly opening: Uint8Array
  readonly position: number
}

/** A log as far as it was read. It is JSON, so that a reader can go on later. */
export interface LogPrefix {
  readonly size: number
  /** The complete subtrees at the right edge of the tree, from large to small, hex. */
  readonly subtrees: readonly string[]
  readonly keys: readonly { readonly opening: string; readonly position: number }[]
  /** The txId of the newest event, hex. */
  readonly newest?: string
}

/** What an opening was. */
export interface ReadEntry {
  /** `undefined`: of a kind that this version does not know. It is in the tree, and nothing is said about it. */
  readonly kind: EntryKind | undefined
  /** Of an event. */
  readonly slot?: Uint8Array
}

/** Reads the openings of a log in their order, in bounded memory: computes its tree, and collects its keys. */
export class LogReading {
  readonly tree: TreeAccumulator
  readonly keys: KeyEntry[]
  #newest: Uint8Array | undefined

  constructor({ size, subtrees, keys, newest }: LogPrefix = { size: 0, subtrees: [], keys: [] }) {
    this.tree = new TreeAccumulator({ size, subtrees: subtrees.map(bytesOf) })
    this.keys = keys.map(({ opening, position }) => ({ opening: bytesOf(opening), position }))
    this.#newest = newest === undefined ? undefined : bytesOf(newest)
  }

  /** Throws `VERIFICATION_FAILED` for an opening that no log may have. */
  add(opening: Uint8Array): ReadEntry {
    const position = this.tree.size
    const kind = kindOf(opening)
    if (kind === undefined && !isLaterKind(opening))
      throw verificationError('log.unknown-entry', `Entry ${position} is of an unknown kind`)
    const slot = kind === 'event' ? slotOf(opening, position) : undefined
    if (kind === 'key') this.keys.push({ opening, position })
    const entry = entryOf(opening)
    this.tree.add(leafHash(entry))
    if (slot === undefined) return { kind }
    this.#newest = entry
    return { kind, slot }
  }

  get prefix(): LogPrefix {
    const keys = this.keys.map(({ opening, position }) => ({ opening: toHex(opening), position }))
    const newest = this.#newest && { newest: toHex(this.#newest) }
    return { size: this.tree.size, subtrees: this.tree.subtrees.map(toHex), keys, ...newest }
  }
}

function slotOf(opening: Uint8Array, position: number): Uint8Array {
  const slot = parseOpening(opening)?.slot
  if (slot === undefined) throw verificationError('event.opening', `Entry ${position} has an impossible time`)
  return slot
}

function bytesOf(hex: string): Uint8Array {
  const bytes = fromHex(hex)
  if (bytes === undefined) throw verificationError('form.value', 'The saved state of a log is not hex')
  return bytes
}

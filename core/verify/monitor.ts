import { toHex, writeU64 } from '../bytes.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import { parseCheckpointText, type Checkpoint } from '../log/checkpoint.ts'
import { parseNote } from '../log/note.ts'
import { splitVerifierKey } from '../log/verifier-key.ts'
import { verifyBundle } from './bundle.ts'
import { verifyCheckpointUnder } from './checkpoint.ts'
import { isCosigned, parseCosigned, verifyCosignatures, type VerifyMlDsa44 } from './cosignatures.ts'
import { assertWholeTree, logKeysOf } from './log.ts'
import { LogReading, type LogPrefix } from './log-reading.ts'
import type { PinnedKey, Policy } from './policy.ts'
import { SLOT_BYTES, SLOT_RECORD_BYTES, type SlotSet } from './slot-set.ts'
import type { TokenVerifier } from './token-verifier.ts'
import { SignatureBudget } from './untrusted.ts'

/** Where a monitor reads a log. All of it is untrusted. */
export interface LogSource {
  /** The newest signed checkpoint, with its cosignatures. */
  checkpoint(): Promise<string>
  /** The openings of the entries from `from` to before `to`, in order, in parts of any size. */
  openings(from: number, to: number): AsyncIterable<readonly Uint8Array[]>
  /** The public bundle of an event by its txId in hex. */
  bundle(txId: string): Promise<string>
}

/** What a monitor knows. It is JSON: save it after each round, and give it to the next monitor of the same log. */
export interface MonitorState {
  /** The newest checkpoint that was verified, with its cosignatures. */
  readonly checkpoint?: string
  /** The log up to that checkpoint. */
  readonly verified?: LogPrefix
  /** What was read behind it and is not verified yet. */
  readonly read?: LogPrefix
  /** When the log last showed a valid checkpoint, ms since 1970; absent: never. */
  readonly seenAt?: number
  /** The event whose stamp and anchor are awaited, and since when, ms since 1970. */
  readonly awaited?: { readonly txId: string; readonly since: number }
  /** The last event that was awaited and has them. */
  readonly proven?: string
  /** Positions of events whose slot was taken, at most 16. */
  readonly doubles?: readonly number[]
}

export const ALARM_KINDS = ['fork', 'roll-back', 'double-slot', 'invalid', 'witnesses', 'late', 'silence'] as const

/**
 * What is wrong with a log:
 *
 * - `fork`: it shows another history than before. `notes` are the two checkpoints, signed by the log.
 * - `roll-back`: it shows a smaller tree than before.
 * - `double-slot`: two events are the same version of a history.
 * - `invalid`: what it serves does not verify under the policy.
 * - `witnesses`: too few witnesses have cosigned its checkpoint, or not within the given time.
 * - `late`: an event has no stamp or no anchor of the policy after the given time.
 * - `silence`: it has shown no checkpoint for the given time.
 */
export interface MonitorAlarm {
  readonly kind: (typeof ALARM_KINDS)[number]
  readonly text: string
  /** The checkpoints that prove it. */
  readonly notes?: readonly string[]
}

export interface LogMonitorOptions {
  readonly source: LogSource
  /** What the user pins, from a source that they trust. */
  readonly policy: Policy
  readonly slots: SlotSet
  /** Default: a first round. */
  readonly state?: MonitorState | undefined
  readonly tokens?: TokenVerifier | undefined
  readonly mlDsa44?: VerifyMlDsa44 | undefined
  /** After how many ms without a stamp, anchor, cosignature or checkpoint there is an alarm. Default: an hour. */
  readonly patienceMs?: number
  /** Saves the state. It is called after each 65,536 entries and at the end of a round. */
  readonly save?: (state: MonitorState) => Promise<void>
  readonly onProgress?: (read: number, size: number) => void
  /** ms since 1970. Default: the clock of this machine. */
  readonly now?: () => number
}

const HOUR_MS = 3_600_000
/** Entries between two saved states. */
const SAVE_EVERY = 65_536
const MAX_DOUBLES = 16

/**
 * Follows a log from outside: reads each opening once, and verifies that the log only grows, that its keys sign it,
 * that no history is forked, and that witnesses, stamps and anchors of the policy come in time.
 *
 * @example
 * const monitor = new LogMonitor({ source, policy, slots: new MemorySlots() })
 * for (const { kind, text } of await monitor.round()) console.log(kind, text)
 */
export class LogMonitor {
  readonly #options: LogMonitorOptions
  readonly #now: () => number
  readonly #patienceMs: number
  #state: MonitorState

  constructor(options: LogMonitorOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#patienceMs = options.patienceMs ?? HOUR_MS
    this.#state = options.state ?? {}
  }

  get state(): MonitorState {
    return this.#state
  }

  /**
   * Reads what is new, and returns what is wrong.
   *
   * @throws what `slots` and `save` throw
   */
  async round(): Promise<readonly MonitorAlarm[]> {
    const alarms = await this.#follow().catch((error: unknown): readonly MonitorAlarm[] => {
      if (error instanceof SilentSource)
        return this.#isOver(this.#state.seenAt)
          ? [{ kind: 'silence', text: `The log is silent: ${error.message}` }]
          : []
      if (isRegistryError(error, 'VERIFICATION_FAILED')) return [{ kind: 'invalid', text: error.message }]
      throw error
    })
    await this.#options.save?.(this.#state)
    const doubles = (this.#state.doubles ?? []).map((at): MonitorAlarm => ({
      kind: 'double-slot',
      text: `Entry ${at} is a version of a history that is there already`,
    }))
    return [...alarms, ...doubles]
  }

  #isOver(since = 0): boolean {
    return this.#now() - since >= this.#patienceMs
  }

  async #follow(): Promise<readonly MonitorAlarm[]> {
    const note = await asked(this.#options.source.checkpoint())
    const { size } = parseCheckpointText(parseNote(note).text)
    const { checkpoint: before, verified } = this.#state
    const known = verified?.size ?? 0
    if (before !== undefined && verified !== undefined && size <= known) {
      const reading = new LogReading(verified)
      const signed = this.#signed(note, reading)
      const notes = [before, note]
      if (size < known)
        return [{ kind: 'roll-back', text: `The log shows ${size} entries, and had ${known} before`, notes }]
      if (toHex(signed.root) !== toHex(reading.tree.root())) return [forkAt(size, notes)]
      return this.#accept(note, reading)
    }
    const reading = await this.#read(note, size)
    if (reading !== undefined) return this.#accept(note, reading)
    return [forkAt(size, [...(before === undefined ? [] : [before]), note])]
  }

  /**
   * Reads the entries up to a checkpoint. If they do not go on with what was verified, returns `undefined`. What an
   * earlier round read and could not verify proves nothing, so all is read again first.
   */
  async #read(note: string, size: number): Promise<LogReading | undefined> {
    const { source, onProgress, save } = this.#options
    const { verified, read = verified } = this.#state
    const reading = new LogReading(read !== undefined && read.size <= size ? read : verified)
    const slots = new Uint8Array(SLOT_RECORD_BYTES * Math.min(size - reading.tree.size + 1, SAVE_EVERY))
    let end = 0
    try {
      for await (const openings of openingsOf(source, reading.tree.size, size)) {
        for (const opening of openings) {
          const position = reading.tree.size
          const { slot } = reading.add(opening)
          if (slot === undefined) continue
          slots.set(slot, end)
          writeU64(slots, end + SLOT_BYTES, position)
          end += SLOT_RECORD_BYTES
          if (end < slots.length) continue
          await this.#keep(slots, reading)
          await save?.(this.#state)
          end = 0
        }
        onProgress?.(reading.tree.size, size)
      }
      await this.#keep(slots.subarray(0, end), reading)
      assertWholeTree(reading, this.#signed(note, reading))
      return reading
    } catch (error) {
      if (!isRegistryError(error, 'VERIFICATION_FAILED')) throw error
      await this.#forget()
      if (read !== verified) return this.#read(note, size)
      if (error.rule === 'log.root-differs' && verified !== undefined) return undefined
      throw error
    }
  }

  async #keep(slots: Uint8Array, reading: LogReading): Promise<void> {
    const taken = await this.#options.slots.add(slots)
    const { doubles = [] } = this.#state
    this.#state = {
      ...this.#state,
      read: reading.prefix,
      doubles: [...new Set([...doubles, ...taken])].slice(0, MAX_DOUBLES),
    }
  }

  /** What was read and does not verify must not stay. */
  async #forget(): Promise<void> {
    const { read: _, ...state } = this.#state
    const { verified: { size } = { size: 0 }, doubles = [] } = state
    await this.#options.slots.forgetFrom(size)
    this.#state = { ...state, doubles: doubles.filter((position) => position < size) }
  }

  /** Verifies a checkpoint under the keys of the log, which must hold those of the policy. */
  #signed(note: string, { keys: entries, tree }: LogReading): Checkpoint {
    const { keys: pinned } = this.#options.policy
    const origin = splitVerifierKey(pinned[0]?.vkey ?? '').name
    const keys = logKeysOf(origin, entries).map((key): PinnedKey => ({ ...pinOf(pinned, key.vkey), ...key }))
    const missing = pinned.find(({ vkey }) => !keys.some((key) => key.vkey === vkey))
    if (missing !== undefined)
      throw verificationError('keys.not-pinned', `The log of ${tree.size} entries does not hold ${missing.vkey}`)
    return verifyCheckpointUnder(note, keys)
  }

  async #accept(note: string, reading: LogReading): Promise<readonly MonitorAlarm[]> {
    const { read: _, ...state } = this.#state
    this.#state = { ...state, checkpoint: note, verified: reading.prefix, seenAt: this.#now() }
    return [...this.#unwitnessed(note), ...(await this.#late())]
  }

  #unwitnessed(note: string): readonly MonitorAlarm[] {
    const {
      policy: { witnesses },
      mlDsa44,
    } = this.#options
    if (witnesses === undefined) return []
    const tree = parseCosigned(note)
    const run = { budget: new SignatureBudget(), doubt: () => undefined }
    const held = [...verifyCosignatures(tree, witnesses, { run, cost: 1, mlDsa44 })]
    // A witness cosigns a checkpoint again and again, so one with old cosignatures is not the newest.
    const recent = new Map(held.filter(([, { time }]) => !this.#isOver(time)))
    if (isCosigned(witnesses, recent, tree.size) !== false) return []
    const names = Array.from(recent.values(), ({ name }) => name).join(', ') || 'none'
    const text = `Too few witnesses have cosigned the checkpoint lately: ${names}`
    return [{ kind: 'witnesses', text, notes: [note] }]
  }

  /** Waits for stamp and anchor of one event at a time: when it has them, of the newest one. */
  async #late(): Promise<readonly MonitorAlarm[]> {
    const { verified, proven } = this.#state
    const newest = verified?.newest
    const isProven = newest === undefined || newest === proven
    const { awaited = isProven ? undefined : { txId: newest, since: this.#now() }, ...state } = this.#state
    if (awaited === undefined) return []
    this.#state = { ...state, awaited }
    const why = await this.#whyUnproven(awaited.txId).catch((error: unknown) => {
      if (error instanceof SilentSource) return `its proof cannot be read: ${error.message}`
      throw error
    })
    if (why === undefined) this.#state = { ...state, proven: awaited.txId }
    else if (this.#isOver(awaited.since)) return [{ kind: 'late', text: `The event ${awaited.txId}: ${why}` }]
    return []
  }

  /**
   * Returns what the proof of an event lacks. Whether the block of an anchor is part of its chain is not asked. Throws
   * `VERIFICATION_FAILED` for a proof that is wrong.
   */
  async #whyUnproven(txId: string): Promise<string | undefined> {
    const { policy, source, tokens } = this.#options
    const { authorities = [], chains = [] } = policy
    const result = verifyBundle(await asked(source.bundle(txId)), { policy, tokens, expect: { txId } })
    if ('rule' in result) throw verificationError(result.rule, `The proof of the event ${txId}: ${result.reason}`)
    const [event] = result.claims.events
    if (event?.log === undefined) return 'it is not sealed'
    if (authorities.length > 0 && tokens !== undefined && event.timestamps.length === 0) return 'it has no time stamp'
    return chains.length > 0 && event.anchors.length === 0 ? 'it has no anchor' : undefined
  }
}

const forkAt = (size: number, notes: readonly string[]): MonitorAlarm => ({
  kind: 'fork',
  text: `The log shows a tree of ${size} entries that does not go on with the one before`,
  notes,
})

const pinOf = (pinned: readonly PinnedKey[], vkey: string): PinnedKey | undefined =>
  pinned.find((key) => key.vkey === vkey)

/** The source could not be asked, or did not return anything usable. */
class SilentSource extends Error {}

const silent = (error: unknown): SilentSource =>
  new SilentSource(error instanceof Error ? error.message : String(error))

const asked = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw silent(error)
  })

async function* openingsOf(source: LogSource, from: number, to: number): AsyncGenerator<readonly Uint8Array[]> {
  try {
    yield* source.openings(from, to)
  } catch (error) {
    throw silent(error)
  }
}

import { encodeUtf8, equalBytes, toBase64, toHex } from '../core/bytes.ts'
import { DueTime } from '../core/clock.ts'
import { isRegistryError, messageOf, RegistryError } from '../core/errors.ts'
import { hasQuorum } from '../core/log/cosigned.ts'
import { logKeys } from '../core/log/keys.ts'
import { formatNote, parseNote } from '../core/log/note.ts'
import { formatTypedKey, splitVerifierKey } from '../core/log/verifier-key.ts'
import type { LogReader } from '../core/log/reader.ts'
import type { CheckpointRecord, CosignedRecord, WitnessesRecord } from '../core/log/records.ts'
import type { SealerHost, SignedHead, WitnessPolicy, WitnessStatus, Write } from '../core/ports/index.ts'
import { decodeRecord, storedBytes } from '../core/store/codec.ts'
import { putRecord } from '../core/store/entries.ts'
import { readAll, readFirst } from '../core/store/read.ts'
import { verifyCheckpointUnder } from '../core/verify/checkpoint.ts'
import { parseCosigned, verifyCosignature } from '../core/verify/cosignatures.ts'
import { SignatureBudget } from '../core/verify/untrusted.ts'
import type { WitnessSettings } from './witness-settings.ts'
import { stateOf, withWitness } from './witness-state.ts'

interface CosignerOptions {
  readonly host: SealerHost
  readonly reader: LogReader
  readonly witnesses: WitnessSettings
  /** Gets a tree that one of the log's own keys signed, and that is not the beginning of this log. */
  readonly onForkedTree: (tree: SignedHead) => Promise<void>
}

type Witness = WitnessPolicy['witnesses'][number]
/** `signed`: the note with the signature of the submission key, too. */
type Submission = CheckpointRecord & { readonly signed: string }

/** A witness that lost its state needs two. More are only needed if others submit, too. */
const MAX_REQUESTS = 3
/** Until there is a checkpoint. */
const POLL_MS = 1_000
const HOUR_MS = 3_600_000
const NOTHING: WitnessesRecord = { size: 0, submittedAt: 0, witnesses: [], thinned: { size: 0, hour: -1 } }

/**
 * Has witnesses cosign the newest checkpoint, all side by side and once in each interval. Each cosignature is stored as
 * soon as it arrives, so a witness that is slow or does not respond delays nothing. All decisions read the store, so
 * restarted and other processes go on from there.
 */
export class Cosigner {
  readonly #options: CosignerOptions
  readonly #next = new DueTime()
  /** As it was read or written last. */
  #state: WitnessesRecord | undefined

  constructor(options: CosignerOptions) {
    this.#options = options
  }

  /** The witnesses as this process last saw them. */
  get status(): readonly WitnessStatus[] {
    return this.#options.witnesses.policy.witnesses.map(({ name, vkey }) => {
      const { size = 0, cosignedAt = null, alarm = null } = stateOf(this.#state, vkey) ?? {}
      return { name, size, cosignedAt, alarm }
    })
  }

  /** ms until the next submission is due. */
  get dueInMs(): number {
    const { host, witnesses } = this.#options
    return Math.max(0, this.#next.msUntil(this.#state?.submittedAt, witnesses.intervalMs, host.clock.now()))
  }

  /** Reads what was submitted, perhaps by another process. */
  async observe(): Promise<void> {
    this.#state = await this.#options.reader.checkpoints.witnesses()
  }

  /**
   * Submits the newest checkpoint if it is due. Returns after how many ms the next step is due.
   *
   * @throws RegistryError `WITNESS_FAILED`, which names each witness that did not cosign
   */
  async step(signal: AbortSignal): Promise<number> {
    await this.observe()
    if (this.dueInMs > 0) return this.dueInMs
    const newest = await this.#options.reader.checkpoints.latest()
    if (newest === undefined) return POLL_MS
    await this.#begin(newest)
    const submission = { ...newest, signed: await this.#signed(newest.note) }
    const asked = this.#options.witnesses.policy.witnesses.filter(
      ({ vkey }) => stateOf(this.#state, vkey)?.alarm !== 'WITNESS_OTHER_HISTORY',
    )
    const results = await Promise.allSettled(asked.map((witness) => this.#submit(witness, submission, signal)))
    signal.throwIfAborted()
    await this.#show(newest.size)
    const reasons: unknown[] = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    const own = reasons.find((reason) => !isRegistryError(reason, 'WITNESS_FAILED'))
    if (own !== undefined) throw own
    if (reasons.length > 0) throw failed(reasons.map(messageOf).join('; '))
    return this.dueInMs
  }

  /** Stores that a checkpoint is submitted, before it is. Each submission adds a record, and thins at most one. */
  async #begin({ size }: CheckpointRecord): Promise<void> {
    const submittedAt = this.#options.host.clock.now()
    await this.#update(size, async (state, cosigned) => {
      const { thinned, writes } = await this.#thin(state, submittedAt)
      const witnesses = this.#options.witnesses.policy.witnesses.map(
        ({ vkey }) => stateOf(state, vkey) ?? { vkey, from: size, size: 0, cosignedAt: null, alarm: null },
      )
      // Before the first submission, the log has shown its newest checkpoint.
      const shown = state.size === 0 ? size : (state.shown ?? state.size)
      return { state: { size, shown, submittedAt, witnesses, thinned }, cosigned, writes }
    })
  }

  /** Shows the checkpoint, whatever cosignatures it has. */
  async #show(size: number): Promise<void> {
    if (this.#state?.shown === size) return
    await this.#update(size, (state, cosigned) => ({ state: showing(state, size), cosigned }))
  }

  /** The note with the signature of the submission key. Verifiers ignore it, because they do not know that key. */
  async #signed(note: string): Promise<string> {
    const { text } = parseNote(note)
    const { submissionKey } = this.#options.witnesses
    const vkey = formatTypedKey(this.#options.host.identity.origin, submissionKey.publicKey)
    return note + formatNote(text, vkey, await submissionKey.sign(encodeUtf8(text))).slice(text.length + 1)
  }

  async #submit(witness: Witness, submission: Submission, signal: AbortSignal): Promise<void> {
    const { vkey, url } = witness
    if (url === undefined) return
    let old = stateOf(this.#state, vkey)?.size ?? 0
    for (let request = 0; request < MAX_REQUESTS; request++) {
      const body = await this.#body(submission, old)
      const response = await this.#options.witnesses.client.addCheckpoint(url, body, signal)
      if (response.state === 'cosigned') return this.#keep(witness, submission, response.lines)
      if (response.state === 'other-history') return this.#raise(witness, 'WITNESS_OTHER_HISTORY', signal)
      old = response.size
      if (old <= submission.size) continue
      // Another server may have submitted a later checkpoint. The tree is read after the response.
      if (old > (await this.#options.reader.tree.head()).size) await this.#raise(witness, 'WITNESS_AHEAD', signal)
      return
    }
    throw failed(`${witness.name}: it expects another size each time`)
  }

  /** The proof is verified: the witness would take a wrong one for another history. */
  async #body({ size, root, signed }: Submission, old: number): Promise<Uint8Array> {
    const { reader } = this.#options
    const trees = { fromSize: old, toSize: size, toRoot: storedBytes(root, 'A root') }
    const proof =
      old === 0 ? [] : await reader.tree.proveConsistency({ ...trees, fromRoot: await reader.tree.rootAt(old) })
    return encodeUtf8([`old ${old}`, ...proof.map(toBase64), '', signed].join('\n'))
  }

  /** Stores a cosignature, if it verifies. */
  async #keep(witness: Witness, { size, note }: Submission, lines: string): Promise<void> {
    const line = this.#lineIn(lines, note, witness)
    if (line === undefined) throw failed(`${witness.name}: its response has no cosignature that can be verified`)
    const { vkey } = witness
    const cosignedAt = this.#options.host.clock.now()
    await this.#update(size, (state, cosigned) => {
      const before = cosigned.cosignatures.find((each) => each.vkey === vkey)
      const others = cosigned.cosignatures.filter((each) => each !== before)
      const cosignatures = [...others, { vkey, first: before?.first ?? line, newest: line }]
      const next = withWitness(state, vkey, { size, cosignedAt, alarm: null })
      const isEnough = hasQuorum(this.#options.witnesses.policy, { cosignatures })
      return { state: isEnough ? showing(next, size) : next, cosigned: { ...cosigned, cosignatures } }
    })
  }

  /** The signature line of a witness among the lines that it sent, if it verifies. */
  #lineIn(lines: string, note: string, witness: Witness): string | undefined {
    const { mlDsa44 } = this.#options.witnesses
    return orNothing(() => {
      const { text } = parseNote(note)
      const tree = parseCosigned(`${text}\n${lines}`)
      const run = { budget: new SignatureBudget(), doubt: () => undefined }
      // With an empty line among them, the text would be another one.
      if (tree.note.text !== text || verifyCosignature(tree, witness, { run, cost: 1, mlDsa44 }) === undefined)
        return undefined
      const { name, hash } = splitVerifierKey(witness.vkey)
      const index = tree.note.signatures.findIndex((one) => one.name === name && toHex(one.keyId) === hash)
      return lines.split('\n')[index]
    })
  }

  /** Raises an alarm, and looks whether the witness can show a fork of this log. */
  async #raise({ name, vkey, url = '' }: Witness, alarm: WitnessStatus['alarm'], signal: AbortSignal): Promise<void> {
    const { host, witnesses, onForkedTree } = this.#options
    if (stateOf(this.#state, vkey)?.alarm !== alarm) {
      const { size } = this.#state ?? NOTHING
      await this.#update(size, (state, cosigned) => ({ state: withWitness(state, vkey, { alarm }), cosigned }))
      host.logger.error({ witness: name, code: alarm }, 'a witness has cosigned what is not in this log')
    }
    const shown = await witnesses.client.readCheckpoint(url, host.identity.origin, signal)
    const fork = shown === undefined ? undefined : await this.#forkIn(shown)
    if (fork === undefined) return
    host.logger.error({ witness: name, checkpoint: shown }, 'nothing is signed any more: the witness shows a fork')
    await onForkedTree(fork)
  }

  /**
   * The tree of a checkpoint from anywhere, if a key of this log signed it and it is not in this log. Others may have
   * signed with a key that is marked as compromised. A key of the keyring that is not in the log was in it, if the
   * store was set back to before a rotation.
   */
  async #forkIn(note: string): Promise<SignedHead | undefined> {
    const { reader, host } = this.#options
    const keys = host.identity.keys.filter(({ isCompromised }) => !isCompromised)
    const own = [...keys.map(({ verifierKey }) => verifierKey), ...(await host.identity.pendingKeys())]
    const pinned = own.map((vkey) => ({ vkey }))
    const tree = orNothing(() => verifyCheckpointUnder(note, pinned))
    if (tree === undefined) return undefined
    const { size, root } = tree
    const isHeld = size <= (await reader.tree.head()).size && equalBytes(await reader.tree.rootAt(size), root)
    return isHeld ? undefined : { size, root }
  }

  /** Decides whether the oldest cosignatures are kept: those of stamped checkpoints, and of the first of each hour. */
  async #thin({ size, thinned }: WitnessesRecord, now: number) {
    const { host, witnesses } = this.#options
    const range = { gte: logKeys.cosigned(thinned.size + 1), lt: logKeys.cosigned(Math.max(size, thinned.size + 1)) }
    const oldest = await readFirst<CosignedRecord>(host.records, range)
    if (oldest === undefined || oldest.submittedAt > now - 24 * HOUR_MS) return { thinned, writes: [] }
    const stamps = await host.records.get([logKeys.stamp(oldest.size), logKeys.partialStamp(oldest.size)])
    const hour = Math.floor(oldest.submittedAt / HOUR_MS)
    const isFirst = hour !== thinned.hour && hasQuorum(witnesses.policy, oldest)
    const isKept = isFirst || stamps.some((stamp) => stamp !== undefined)
    return {
      thinned: { size: oldest.size, hour: isFirst ? hour : thinned.hour },
      writes: isKept ? [] : [{ key: logKeys.cosigned(oldest.size), value: null }],
    }
  }

  /** Decides from stored state and commits. Decides again if another commit came first. */
  async #update(
    size: number,
    decide: (state: WitnessesRecord, cosigned: CosignedRecord) => Change | Promise<Change>,
  ): Promise<void> {
    const { records, clock } = this.#options.host
    const keys = [logKeys.witnesses(), logKeys.cosigned(size)] as const
    for (;;) {
      const entries = await readAll(records, keys)
      const before = decodeRecord(entries[1]) ?? { size, submittedAt: clock.now(), cosignatures: [] }
      const { state, cosigned, writes = [] } = await decide(decodeRecord(entries[0]) ?? NOTHING, before)
      const { ok } = await records.commit({
        checks: keys.map((key, i) => ({ key, version: entries[i]?.version ?? null })),
        writes: [putRecord(keys[0], state), putRecord(keys[1], cosigned), ...writes],
      })
      if (ok) this.#state = state
      if (ok) return
    }
  }
}

interface Change {
  readonly state: WitnessesRecord
  readonly cosigned: CosignedRecord
  readonly writes?: readonly Write[]
}

/** Never a smaller one than before. */
const showing = (state: WitnessesRecord, size: number): WitnessesRecord => ({
  ...state,
  shown: Math.max(size, state.shown ?? 0),
})

const failed = (reason: string): RegistryError => new RegistryError('WITNESS_FAILED', reason)

/** What a check of something untrusted returns, `undefined` if it fails. */
function orNothing<T>(check: () => T): T | undefined {
  try {
    return check()
  } catch (error) {
    if (isRegistryError(error, 'VERIFICATION_FAILED')) return undefined
    throw error
  }
}

import type { WriteCondition } from '../api/scope.ts'
import type { Json } from '../commitment/canonical-json.ts'
import { RegistryError } from '../errors.ts'
import type { Commit, Key, Sealer } from '../ports/index.ts'
import {
  type Call,
  decideOrReplay,
  findUse,
  type IdempotencyParts,
  type IdempotentCall,
  idempotentCall,
  withIdempotency,
} from './idempotency.ts'
import { KeyedLock } from './keyed-lock.ts'
import type { WriteGate } from './write-gate.ts'

/** How often a write is tried before it gives up because of conflicts with other writes. */
const MAX_ATTEMPTS = 100

/** A part of a commit. */
export type CommitPart = Required<Pick<Commit, 'checks' | 'writes' | 'adds'>>

/** The outcome of a decision: what to commit, and what to return. */
export interface Decision<T extends Json> {
  readonly commit: Commit
  readonly result: T
  /** What a repeated call with the same idempotency key returns, if it is not `result`. */
  readonly replayed?: T
}

export interface Attempt {
  /** ms since 1970. */
  readonly now: number
  /**
   * The keys whose checks failed in the attempt before; none in the first one. A first attempt may rely on cached state
   * and on names being free: if they are not, its commit fails on a check, and the next attempt reads everything.
   */
  readonly conflicts: readonly Key[]
}

/**
 * Runs a write: looks up the idempotency key, decides, commits. Decides again if records that it read have changed. A
 * decision that throws changes nothing.
 *
 * @param call - `undefined` for an operation that accepts no idempotency key
 * @throws what `decide` throws, `IDEMPOTENCY_KEY_REUSED`, `VALIDATION_ERROR` for a malformed key, `UNAVAILABLE` after
 * too many conflicts, or if the clock is behind and the write records events
 */
export type RunWrite = <T extends Json>(
  call: Call | undefined,
  decide: (attempt: Attempt) => Promise<Decision<T>>,
) => Promise<T>

interface WriterParts extends IdempotencyParts {
  readonly gate: WriteGate
  /** Learns that the log has new entries. */
  readonly sealer: Pick<Sealer, 'notify' | 'sealedSize'>
  /** Who waits for new entries of the log. */
  readonly listeners: ReadonlySet<() => void>
}

/** Makes the function that runs all writes of a registry. */
export function writer(parts: WriterParts): RunWrite {
  const lock = new KeyedLock()
  return async (call, decide) => {
    const idempotent = call && idempotentCall(parts, call)
    let conflicts: readonly Key[] = []
    let release: (() => void) | undefined
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const outcome = await tryWrite(parts, idempotent, decide, conflicts)
        if ('result' in outcome) return outcome.result
        conflicts = outcome.conflicts
        const [key] = conflicts
        if (key !== undefined) release ??= await lock.acquire(key)
      }
      throw new RegistryError('UNAVAILABLE', 'Too many other writes change the same records; try again')
    } finally {
      release?.()
    }
  }
}

type Outcome<T> = { readonly result: T } | { readonly conflicts: readonly Key[] }

/** One attempt. `conflicts`: of the attempt before. */
async function tryWrite<T extends Json>(
  parts: WriterParts,
  call: IdempotentCall | undefined,
  decide: (attempt: Attempt) => Promise<Decision<T>>,
  conflicts: readonly Key[],
): Promise<Outcome<T>> {
  const { records, clock, gate, sealer, listeners } = parts
  gate.assertWritable()
  const use = call && (await findUse<T>(parts, call))
  if (use !== undefined && 'result' in use) return use
  const now = clock.now()
  const attempt = { now, conflicts }
  const decision = await (call === undefined
    ? decide(attempt)
    : decideOrReplay<T, Decision<T>>(parts, call, () => decide(attempt)))
  if (!('commit' in decision)) return decision
  const { commit, result, replayed = result } = decision
  const recordsEvents = commit.append !== undefined
  if (recordsEvents) gate.assertClock()
  const sealedBefore = sealer.sealedSize
  const outcome = await records.commit(
    use === undefined ? commit : withIdempotency(commit, use, { answer: replayed, now }),
  )
  if (!outcome.ok) return outcome
  if (recordsEvents) {
    sealer.notify()
    gate.assertAppended(outcome.firstPosition, sealedBefore)
    for (const notify of listeners) notify()
  }
  return { result }
}

/**
 * Throws `VERSION_CONFLICT` unless an evidence or a category has the version that the caller has seen. A decision calls
 * it with a record that its commit checks. So nothing can change between the comparison and the write.
 */
export function assertVersion(
  { ifVersion }: WriteCondition,
  version: number,
  owner: 'the evidence' | 'the category',
): void {
  if (ifVersion === undefined || ifVersion === version) return
  const message = `ifVersion is ${ifVersion}, but ${owner} has version ${version}: read it again`
  throw new RegistryError('VERSION_CONFLICT', message, { field: 'ifVersion' })
}

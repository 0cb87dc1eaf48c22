import type { Json } from '../commitment/canonical-json.ts'
import { RegistryError } from '../errors.ts'
import type { Check, Commit, Key } from '../ports/index.ts'
import { isInRange } from '../store/key.ts'
import { keys } from '../store/keys.ts'
import type { Context } from './context.ts'
import { findUse, withIdempotency, type IdempotentCall, type Replay } from './idempotency.ts'

/** How often a write is tried before it gives up because of conflicts with other writes. */
const MAX_ATTEMPTS = 100

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
   * No conflict yet. A first attempt may rely on cached state and on names being free: if they are not, its commit
   * fails on a check, and the next attempt reads everything.
   */
  readonly isFirst: boolean
}

type Decide<T extends Json> = (attempt: Attempt) => Promise<Decision<T>>

/**
 * Runs a write: looks up the idempotency key, decides, commits. Decides again if records that it read have changed. A
 * decision that throws changes nothing.
 *
 * Throws what `decide` throws, `IDEMPOTENCY_KEY_REUSED`, `FILE_NOT_FOUND` if a staged file was used or discarded,
 * `UNAVAILABLE` after too many conflicts.
 */
export async function write<T extends Json>(
  context: Context,
  call: IdempotentCall | undefined,
  decide: Decide<T>,
): Promise<T> {
  let failed: FailedAttempt | undefined
  let release: (() => void) | undefined
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const outcome = await tryWrite(context, call, decide, failed)
      if ('result' in outcome) return outcome.result
      failed = outcome
      release ??= await context.lock.acquire(failed.conflicts[0] ?? '')
    }
    throw new RegistryError('UNAVAILABLE', 'Too many other writes change the same records; try again')
  } finally {
    release?.()
  }
}

/** An attempt whose commit failed on its checks. */
interface FailedAttempt {
  readonly conflicts: readonly Key[]
  /** Another write has used, or discarded, a staged file of this one. */
  readonly isFileGone: boolean
}

/** One attempt. `failed`: the attempt before. */
async function tryWrite<T extends Json>(
  context: Context,
  call: IdempotentCall | undefined,
  decide: Decide<T>,
  failed: FailedAttempt | undefined,
): Promise<{ readonly result: T } | FailedAttempt> {
  const use = call && (await findUse(context, call))
  if (isReplay(use)) return { result: use.replay as T }
  // A staged file that is gone does not come back, so there is no point in another attempt.
  if (failed?.isFileGone === true)
    throw new RegistryError('FILE_NOT_FOUND', 'A staged file was used or discarded before: stage it again')
  const now = context.clock.now()
  const decision = await decideOrReplay(context, call, () => decide({ now, isFirst: failed === undefined }))
  if (isReplay(decision)) return { result: decision.replay as T }
  const { commit, result, replayed = result } = decision
  const outcome = await context.records.commit(
    use === undefined ? commit : withIdempotency(commit, use, { answer: replayed, now }),
  )
  if (!outcome.ok) return failedAttempt(commit, outcome.conflicts)
  if (commit.append !== undefined) context.notify()
  return { result }
}

/**
 * If the decision throws, looks the idempotency key up again. The same call may have been sent twice at once, and the
 * other one may have succeeded in the meantime: then it is what this one failed on, for example an external id that
 * exists now.
 */
async function decideOrReplay<T extends Json>(
  context: Context,
  call: IdempotentCall | undefined,
  decide: () => Promise<Decision<T>>,
): Promise<Decision<T> | Replay> {
  try {
    return await decide()
  } catch (error) {
    const use = call && (await findUse(context, call))
    if (isReplay(use)) return use
    throw error
  }
}

const isReplay = (use: object | undefined): use is Replay => use !== undefined && 'replay' in use

function failedAttempt({ checks = [] }: Commit, conflicts: readonly Key[]): FailedAttempt {
  const failed = checks.filter(({ key }) => conflicts.includes(key))
  return { conflicts, isFileGone: failed.some(isOfStagedFile) }
}

/** A commit that uses a staged file requires its upload intent, or that a small file has no record yet. */
const isOfStagedFile = ({ key, version }: Check): boolean =>
  isInRange(key, keys.blobIntents()) || (version === null && isInRange(key, keys.files()))

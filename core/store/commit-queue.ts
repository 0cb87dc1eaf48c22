import type { GroupPlan } from './commit-plan.ts'
import { RegistryError } from '../errors.ts'
import type { Commit, CommitResult } from '../ports.ts'

/** Commits of one group; what waits beyond joins the next. It bounds the memory of one write. */
const MAX_GROUP = 1024
/** So many do not wait for the turn of the event loop to end: while they are written, the rest of the turn makes the next group. */
const EARLY_GROUP = 128

interface Waiting {
  readonly commit: Commit
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

/**
 * Joins the commits of a record store in groups: those that wait while one is written are the next, so that many share one
 * sync. Groups are written one after the other, and each commit is answered when its group is.
 */
export class CommitQueue {
  readonly #writeGroup: (commits: readonly Commit[]) => Promise<Pick<GroupPlan, 'outcomes'>>
  #waiting: Waiting[] = []
  #draining: Promise<void> | undefined
  #begin: () => void = () => undefined

  /** `writeGroup`: durable when it answers. What it throws is what each commit of the group throws. */
  constructor(writeGroup: (commits: readonly Commit[]) => Promise<Pick<GroupPlan, 'outcomes'>>) {
    this.#writeGroup = writeGroup
  }

  add(commit: Commit): Promise<CommitResult> {
    return new Promise<CommitResult>((resolve, reject) => {
      this.#waiting.push({ commit, resolve, reject })
      this.#draining ??= this.#drain()
      if (this.#waiting.length === EARLY_GROUP) this.#begin()
    })
  }

  /** Waits until nothing waits. */
  async emptied(): Promise<void> {
    await this.#draining
  }

  async #drain(): Promise<void> {
    // Callers of the same turn join one group, also those that the last group woke and that await other things first.
    await new Promise<void>((resolve) => {
      this.#begin = resolve
      setImmediate(resolve)
    })
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MAX_GROUP)
      try {
        const { outcomes } = await this.#writeGroup(group.map(({ commit }) => commit))
        for (const [index, { resolve, reject }] of group.entries()) {
          const outcome = outcomes[index] as GroupPlan['outcomes'][number]
          if (outcome instanceof RegistryError) reject(outcome)
          else resolve(outcome)
        }
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#draining = undefined
  }
}

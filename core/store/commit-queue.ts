import { RegistryError } from '../errors.ts'
import type { Commit, CommitResult } from '../ports/index.ts'
import type { GroupPlan } from './commit-plan.ts'

/** Commits in one group, which bounds the memory of one write. The others wait for the next group. */
const MAX_GROUP = 1024
/**
 * With this many commits a group starts before the turn of the event loop ends; the rest of the turn forms the next
 * group meanwhile.
 */
const EARLY_GROUP = 128

interface PendingCommit {
  readonly commit: Commit
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

/**
 * Joins the commits of a record store in groups, so that many commits share one sync: the commits that wait while a
 * group is written form the next group. Groups are written one after the other, and a commit resolves when its group is
 * written.
 */
export class CommitQueue {
  readonly #writeGroup: (commits: readonly Commit[]) => Promise<Pick<GroupPlan, 'outcomes'>>
  #pending: PendingCommit[] = []
  #draining: Promise<void> | undefined
  #begin: () => void = () => undefined

  /**
   * `writeGroup` resolves when the group is durable. If it throws, every commit of the group rejects with that error.
   */
  constructor(writeGroup: (commits: readonly Commit[]) => Promise<Pick<GroupPlan, 'outcomes'>>) {
    this.#writeGroup = writeGroup
  }

  add(commit: Commit): Promise<CommitResult> {
    return new Promise<CommitResult>((resolve, reject) => {
      this.#pending.push({ commit, resolve, reject })
      this.#draining ??= this.#drain()
      if (this.#pending.length === EARLY_GROUP) this.#begin()
    })
  }

  /** Resolves when no commit waits. */
  async emptied(): Promise<void> {
    await this.#draining
  }

  async #drain(): Promise<void> {
    // Callers of the same turn join one group, including those that the last group resolved and that await something
    // else first.
    await new Promise<void>((resolve) => {
      this.#begin = resolve
      setImmediate(resolve)
    })
    while (this.#pending.length > 0) {
      const group = this.#pending.splice(0, MAX_GROUP)
      try {
        const { outcomes } = await this.#writeGroup(group.map(({ commit }) => commit))
        group.forEach(({ resolve, reject }, index) => {
          const outcome = outcomes[index]
          if (outcome instanceof RegistryError) reject(outcome)
          else if (outcome !== undefined) resolve(outcome)
        })
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#draining = undefined
  }
}

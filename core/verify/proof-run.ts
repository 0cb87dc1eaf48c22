import type { ProofStep, ProofStepName, Unchecked } from './proof-result.ts'
import { MAX_SIGNATURE_CHECKS, SignatureBudget } from './signature-budget.ts'

/** A step that cannot run, and why. */
export class Skip {
  readonly reason: string
  readonly isPending: boolean

  constructor(reason: string, { isPending = false }: { readonly isPending?: boolean } = {}) {
    this.reason = reason
    this.isPending = isPending
  }
}

const ALWAYS_REQUIRED: ReadonlySet<ProofStepName> = new Set(['document', 'opening', 'inclusion', 'checkpoint'])

/** Runs the steps of one document and collects their results. */
export class ProofRun {
  /** For the stamp of the event and that of its deletion. */
  readonly budget = new SignatureBudget(2 * MAX_SIGNATURE_CHECKS)
  readonly #steps: ProofStep[] = []
  readonly #unchecked: Unchecked[] = []
  readonly #required: ReadonlySet<ProofStepName>
  #hasFailed = false
  #isUnsealed = false

  constructor(required: readonly ProofStepName[]) {
    this.#required = new Set([...ALWAYS_REQUIRED, ...required])
  }

  /** Runs a step. Returns what it proved; `undefined` if it failed or was skipped. */
  step<T extends object | true>(name: ProofStepName, of: ProofStep['of'], check: () => T | Skip): T | undefined {
    try {
      const result = check()
      if (!(result instanceof Skip)) {
        this.#record({ name, of, state: 'ok' })
        return result
      }
      this.#skip(name, of, result)
    } catch (error) {
      this.#hasFailed = true
      this.#record({ name, of, state: 'failed', reason: error instanceof Error ? error.message : String(error) })
    }
    return undefined
  }

  /** A required step that did not run has failed. */
  #skip(name: ProofStepName, of: ProofStep['of'], { reason, isPending }: Skip): void {
    const isRequired = this.#required.has(name)
    this.#isUnsealed ||= isPending
    this.#hasFailed ||= isRequired && !isPending
    this.#record({ name, of, state: isRequired ? 'failed' : 'skipped', reason })
    this.doubt(of === 'event' ? name : `${name} of the deletion`, reason)
  }

  /** Each step is listed once. Only the first one has two parts. */
  #record(step: ProofStep): void {
    const last = this.#steps.at(-1)
    if (last?.name === step.name && last.of === step.of) this.#steps.pop()
    this.#steps.push(step)
  }

  /** Notes something that was not checked. */
  doubt(what: string, why: string): void {
    this.#unchecked.push({ what, why })
  }

  /** Steps that never ran, because the document holds nothing for them, fail if they are required. */
  finish(): void {
    for (const name of this.#required)
      if (!this.#steps.some((step) => step.name === name))
        this.step(name, 'event', () => new Skip('The proof document holds nothing to run this step on'))
  }

  get steps(): readonly ProofStep[] {
    return this.#steps
  }

  get unchecked(): readonly Unchecked[] {
    return this.#unchecked
  }

  /** Whether all that is wrong is that the event is not sealed yet. */
  get isPending(): boolean {
    return this.#isUnsealed && !this.#hasFailed && !this.budget.isExceeded
  }

  /** A check that was left out could have refuted the proof, so the budget must not be exceeded. */
  get isOk(): boolean {
    return !this.#hasFailed && !this.#isUnsealed && !this.budget.isExceeded
  }
}

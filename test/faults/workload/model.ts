import { createHash } from 'node:crypto'

/** What the load sent, what was acknowledged, and which states of an evidence are therefore correct. */

/** A file that the load sends. Its name determines its content. */
export interface SentFile {
  readonly name: string
  /** Bytes. */
  readonly size: number
}

/** One write of the load. */
export type Step =
  | { readonly kind: 'create' | 'update'; readonly summary: string; readonly files: readonly SentFile[] }
  | { readonly kind: 'delete-file'; readonly name: string }

/** The state of an evidence. */
export interface EvidenceState {
  readonly version: number
  readonly summary: string
  /** SHA-256 in hex by name, of the files that are not deleted. */
  readonly files: ReadonlyMap<string, string>
}

/** The writes of one evidence. At most the last one has an unknown outcome, because then the load leaves it alone. */
export class EvidenceTrace {
  readonly externalId: string
  readonly acknowledged: Step[] = []
  /** A write without an acknowledgement: it may be applied or not. */
  uncertain: Step | undefined

  constructor(externalId: string) {
    this.externalId = externalId
  }

  /** The state after all acknowledged writes; `undefined` if the evidence does not exist. */
  get state(): EvidenceState | undefined {
    return stateAfter(this.acknowledged)
  }

  /** The states that are correct now. */
  get correctStates(): readonly (EvidenceState | undefined)[] {
    const { acknowledged, uncertain } = this
    return uncertain === undefined ? [this.state] : [this.state, stateAfter([...acknowledged, uncertain])]
  }
}

export function contentOf({ name, size }: SentFile): Buffer {
  return Buffer.alloc(size, createHash('sha256').update(name).digest())
}

const sha256Of = (file: SentFile): string => createHash('sha256').update(contentOf(file)).digest('hex')

function stateAfter(steps: readonly Step[]): EvidenceState | undefined {
  let state: EvidenceState | undefined
  for (const step of steps) state = apply(state, step)
  return state
}

function apply(state: EvidenceState | undefined, step: Step): EvidenceState {
  const { version = 0, summary = '' } = state ?? {}
  const files = new Map(state?.files)
  if (step.kind === 'delete-file') {
    files.delete(step.name)
    return { version: version + 1, summary, files }
  }
  for (const file of step.files) files.set(file.name, sha256Of(file))
  // An update records one event for the text and one for its files.
  const events = step.kind === 'update' && step.files.length > 0 ? 2 : 1
  return { version: version + events, summary: step.summary, files }
}

/** Describes a state in one line. */
export function describeState(state: EvidenceState | undefined): string {
  if (state === undefined) return 'absent'
  const files = [...state.files].map(([name, sha256]) => `${name} ${sha256.slice(0, 8)}`).toSorted()
  return `version ${state.version}, "${state.summary}", files [${files.join(', ')}]`
}

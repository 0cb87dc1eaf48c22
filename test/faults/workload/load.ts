import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { pick, randomFrom, type Random } from '../../support/bundle-mutations.ts'
import { EvidenceTrace, type SentFile, type Step } from './model.ts'

/** Sizes of the files that the load sends, in bytes: less than a page, more than one, and many chunks. */
const FILE_SIZES = [1, 700, 5_000, 70_000, 300_000]
/** How often a worker writes after `fullSpeed` acknowledgements. */
const SLOW_PACE_MS = 50

export interface LoadOptions {
  readonly seed: number
  /** Writes that are in progress at the same time. */
  readonly workers: number
  /** Performs one write. Throws if it is not acknowledged. */
  readonly write: (externalId: string, step: Step) => Promise<void>
  /** The load ends once this returns true. It is called after every write. */
  readonly isDone: (load: Load) => boolean
  /** After this many acknowledgements the load writes slowly, until `isDone`. Default: never. */
  readonly fullSpeed?: number
}

/** Random creates, updates, uploads and deletions, and their outcomes. */
export class Load {
  readonly traces: EvidenceTrace[] = []
  acknowledged = 0
  rejected = 0
  #runs = 0

  /** Starts all workers, and returns once `isDone` has stopped each of them. */
  async run(options: LoadOptions): Promise<void> {
    const runId = this.#runs++
    const workers = Array.from({ length: options.workers }, (_, i) => this.#work(options, `${runId}-${i}`))
    await Promise.all(workers)
  }

  /** Performs a write and notes its outcome. */
  async #perform({ write }: LoadOptions, trace: EvidenceTrace, step: Step): Promise<void> {
    trace.uncertain = step
    try {
      await write(trace.externalId, step)
    } catch {
      this.rejected += 1
      return
    }
    trace.uncertain = undefined
    trace.acknowledged.push(step)
    this.acknowledged += 1
  }

  /** `id`: distinguishes the worker from all others of this load. */
  async #work(options: LoadOptions, id: string): Promise<void> {
    const { seed, isDone, fullSpeed = Infinity } = options
    const random = randomFrom(hashOf(`${seed}-${id}`))
    const own: EvidenceTrace[] = []
    for (let n = 0; !isDone(this); n += 1) {
      const usable = own.filter(({ uncertain }) => uncertain === undefined)
      const trace = usable.length > 0 && random() < 0.5 ? pick(random, usable) : this.#newTrace(own, `e-${id}-${n}`)
      await this.#perform(options, trace, nextStep(random, trace, `${id}-${n}`))
      if (this.acknowledged >= fullSpeed) await delay(SLOW_PACE_MS)
      else if (trace.uncertain !== undefined) await delay(1)
    }
  }

  #newTrace(own: EvidenceTrace[], externalId: string): EvidenceTrace {
    const trace = new EvidenceTrace(externalId)
    this.traces.push(trace)
    own.push(trace)
    return trace
  }
}

const hashOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE()

function nextStep(random: Random, { state }: EvidenceTrace, id: string): Step {
  const [name] = state?.files.keys() ?? []
  if (name !== undefined && random() < 0.2) return { kind: 'delete-file', name }
  const count = Math.floor(random() * 3)
  const files = Array.from({ length: count }, (_, i): SentFile => {
    return { name: `file-${id}-${i}.bin`, size: pick(random, FILE_SIZES) }
  })
  return { kind: state === undefined ? 'create' : 'update', summary: `summary ${id}`, files }
}

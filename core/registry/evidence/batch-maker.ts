import type { EventEngine } from '../../ports/index.ts'
import { makeEvidences, type BatchRequest, type MadeEvidences } from './make.ts'
import { packRequest, unpackEvidences } from './packed.ts'

/** Smaller batches are made in the calling thread, so that they do not wait for a worker. */
const MIN_ENGINE_EVIDENCES = 100

/** The part of a large batch that the calling thread makes. */
const OWN_SHARE = 1 / 2

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Makes the evidences of batches: large ones in the engine, if there is one. */
export class BatchMaker {
  readonly #engine: EventEngine | undefined
  readonly #batches = new Set<Promise<unknown>>()

  constructor(engine: EventEngine | undefined) {
    this.#engine = engine
  }

  /**
   * The calling thread makes a part of a large batch itself, while the engine makes the rest.
   *
   * Throws as `EventEngine.makeEvidences`.
   */
  async make(request: BatchRequest): Promise<MadeEvidences> {
    const engine = this.#engine
    const { target, drafts } = request
    if (engine === undefined || drafts.length < MIN_ENGINE_EVIDENCES) return makeEvidences(request)
    const ownCount = Math.floor(drafts.length * OWN_SHARE)
    const [packed, own] = await Promise.all([
      engine.makeEvidences(packRequest({ target, drafts: drafts.slice(ownCount) })),
      // In a later turn of the event loop, when a running worker has its part.
      nextTurn().then(() => makeEvidences({ target, drafts: drafts.slice(0, ownCount) })),
    ])
    return joinEvidences(own, unpackEvidences(packed))
  }

  /** Runs the creation of a batch, for which `stop` waits. */
  async run<T>(create: () => Promise<T>): Promise<T> {
    const batch = create()
    this.#batches.add(batch)
    try {
      return await batch
    } finally {
      this.#batches.delete(batch)
    }
  }

  /** Waits for the batches under way. They commit after the engine has made them. */
  async stop(): Promise<void> {
    await Promise.allSettled(this.#batches)
  }
}

const joinEvidences = (a: MadeEvidences, b: MadeEvidences): MadeEvidences => ({
  names: [...a.names, ...b.names],
  writes: [...a.writes, ...b.writes],
  append: [...a.append, ...b.append],
})

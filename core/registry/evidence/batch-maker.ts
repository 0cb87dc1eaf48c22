import { isRegistryError } from '../../errors.ts'
import type { EventEngine, Logger } from '../../ports/index.ts'
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
  readonly #logger: Pick<Logger, 'warn'>
  readonly #batches = new Set<Promise<unknown>>()

  constructor(engine: EventEngine | undefined, logger: Pick<Logger, 'warn'>) {
    this.#engine = engine
    this.#logger = logger
  }

  /** The calling thread makes a part of a large batch itself, while the engine makes the rest. */
  async make(request: BatchRequest): Promise<MadeEvidences> {
    const engine = this.#engine
    const { target, drafts } = request
    if (engine === undefined || drafts.length < MIN_ENGINE_EVIDENCES) return makeEvidences(request)
    const ownCount = Math.floor(drafts.length * OWN_SHARE)
    const [others, own] = await Promise.all([
      this.#makeInEngine(engine, { target, drafts: drafts.slice(ownCount) }),
      // In a later turn of the event loop, when a running worker has its part.
      nextTurn().then(() => makeEvidences({ target, drafts: drafts.slice(0, ownCount) })),
    ])
    return joinEvidences(own, others)
  }

  /** If the engine fails, makes them in the calling thread. So batches work on a machine that cannot run workers. */
  async #makeInEngine(engine: EventEngine, request: BatchRequest): Promise<MadeEvidences> {
    try {
      return unpackEvidences(await engine.makeEvidences(packRequest(request)))
    } catch (err) {
      if (!isRegistryError(err, 'ENGINE_FAILED')) throw err
      this.#logger.warn({ err }, 'the event engine failed: this batch is made without it')
      return makeEvidences(request)
    }
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

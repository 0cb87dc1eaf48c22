import { isRegistryError } from '../../errors.ts'
import type { EventEngine, Logger } from '../../ports/index.ts'
import { makeEvidences, type MakeRequest, type MadeEvidences } from './make.ts'
import { packRequest, unpackEvidences } from './packed.ts'

/** Fewer evidences are made in the calling thread, so that they do not wait for a worker. */
const MIN_ENGINE_EVIDENCES = 100

/** The part of a large bulk create that the calling thread makes. */
const OWN_SHARE = 1 / 2

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** The bulk creates (`createMany`) under way. An engine, if given, makes half of the evidences of a large one. */
export class BulkCreates {
  readonly #engine: EventEngine | undefined
  readonly #logger: Pick<Logger, 'warn'>
  readonly #running = new Set<Promise<unknown>>()

  constructor(engine: EventEngine | undefined, logger: Pick<Logger, 'warn'>) {
    this.#engine = engine
    this.#logger = logger
  }

  /** Makes the evidences of one call: the calling thread a part of many, while the engine makes the rest. */
  async make(request: MakeRequest): Promise<MadeEvidences> {
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

  /** If the engine fails, makes them in the calling thread. So it works on a machine that cannot run workers, too. */
  async #makeInEngine(engine: EventEngine, request: MakeRequest): Promise<MadeEvidences> {
    try {
      return unpackEvidences(await engine.makeEvidences(packRequest(request)))
    } catch (err) {
      if (!isRegistryError(err, 'ENGINE_FAILED')) throw err
      this.#logger.warn({ err }, 'the event engine failed: these evidences are made without it')
      return makeEvidences(request)
    }
  }

  /** Runs a bulk create, for which `stop` waits. */
  async run<T>(create: () => Promise<T>): Promise<T> {
    const running = create()
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  /** Waits for the bulk creates under way. They commit after the engine has made their evidences. */
  async stop(): Promise<void> {
    await Promise.allSettled(this.#running)
  }
}

const joinEvidences = (a: MadeEvidences, b: MadeEvidences): MadeEvidences => ({
  writes: [...a.writes, ...b.writes],
  append: [...a.append, ...b.append],
})

import assert from 'node:assert/strict'
import { isRegistryError, type Registry, type StagedFile, type WriteOptions } from '../../../core/index.ts'
import { companyOfPayload } from '../../../core/log/payload.ts'
import { bodyOf } from '../../support/registry-fixture.ts'
import { isTransient, SCOPE, type World } from './world.ts'

export interface ClientFile {
  readonly name: string
  readonly content: string
}

/** A write as a client makes it: again and again, with the same idempotency key, until it is acknowledged. */
export interface Write<T> {
  readonly name: string
  /** The files that are staged for each attempt. */
  readonly files?: readonly ClientFile[]
  readonly run: (registry: Registry, files: readonly StagedFile[], options: WriteOptions) => Promise<T>
  /** What the acknowledgement says is true from now on. `undefined`: an attempt that failed has been applied. */
  readonly acknowledge: (result: T | undefined) => void
  /** The error of an attempt after one that was applied, for an operation without idempotency keys. */
  readonly doneCode?: string
}

/** A write that was acknowledged, and how it is made again. */
interface Acknowledged {
  readonly name: string
  readonly result: unknown
  readonly at: number
  readonly repeat: (registry: Registry) => Promise<unknown>
}

const MAX_ATTEMPTS = 40
const PAUSE_MS = 100
/** A little less than the registry keeps idempotency keys. */
const REPEATABLE_MS = 23 * 3_600_000

/** A client that repeats what fails, and remembers what was acknowledged. */
export class Client {
  readonly #world: World
  readonly #acknowledged: Acknowledged[] = []
  #writes = 0
  #inProgress = 0

  constructor(world: World) {
    this.#world = world
  }

  get acknowledgements(): number {
    return this.#acknowledged.length
  }

  async perform<T>(write: Write<T>): Promise<void> {
    this.#inProgress++
    try {
      await this.#repeat(write)
    } finally {
      this.#inProgress--
    }
  }

  async #repeat<T>(write: Write<T>): Promise<void> {
    const options = { idempotencyKey: `k-${this.#writes++}` }
    const { outside, stores } = this.#world
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const registry = await this.#world.registry()
      const [eventsBefore, writesBefore] = [await this.#countEvents(), this.#writes]
      const isAlone = (): boolean => this.#inProgress === 1 && this.#writes === writesBefore
      const wasAlone = isAlone()
      try {
        const result = await this.#world.drive(runOnce(registry, write, options))
        this.#accept(write, result, options)
        return
      } catch (error) {
        if (attempt > 1 && write.doneCode !== undefined && isRegistryError(error) && error.code === write.doneCode)
          return write.acknowledge(undefined)
        if (!isTransient(error)) throw new Error(`${write.name} failed`, { cause: error })
        outside.note(`${write.name} failed: ${error.code}`)
        if (error.code !== 'UNKNOWN_OUTCOME' && !outside.isCrashed && wasAlone && isAlone())
          assert.equal(await this.#countEvents(), eventsBefore, `${write.name} threw ${error.code}, and was applied`)
        await stores.clock.advance(PAUSE_MS)
      }
    }
    throw new Error(`${write.name} is not acknowledged after ${MAX_ATTEMPTS} attempts`)
  }

  /** A retry of each write with the same key returns the same result. */
  async repeatAll(): Promise<void> {
    const { clock } = this.#world.stores
    for (const { name, result, at, repeat } of this.#acknowledged) {
      if (clock.now() - at > REPEATABLE_MS) continue
      const registry = await this.#world.registry()
      assert.deepEqual(await this.#world.drive(repeat(registry)), result, `a retry of ${name} returned something else`)
    }
  }

  async #countEvents(): Promise<number> {
    const { records } = this.#world.stores
    const payloads = await records.readPayloads(0, await records.logSize())
    return payloads.filter((payload) => companyOfPayload(payload) !== undefined).length
  }

  #accept<T>(write: Write<T>, result: T, options: WriteOptions): void {
    const { outside, stores } = this.#world
    outside.note(`${write.name}: ${JSON.stringify(result)}`)
    write.acknowledge(result)
    if (write.doneCode === undefined)
      this.#acknowledged.push({
        name: write.name,
        result,
        at: stores.clock.now(),
        repeat: (registry) => runOnce(registry, write, options),
      })
  }
}

/** Stages the files, writes, and discards what was not used. */
async function runOnce<T>(registry: Registry, { files = [], run }: Write<T>, options: WriteOptions): Promise<T> {
  const staged: StagedFile[] = []
  try {
    for (const { name, content } of files) {
      const file = { name, mimeType: 'text/plain', body: bodyOf(content) }
      staged.push(await registry.files.stage(SCOPE, file, { maxBytes: 10_000 }))
    }
    return await run(registry, staged, options)
  } finally {
    // The next start discards what this cannot.
    await registry.files.discard(staged).catch(() => undefined)
  }
}

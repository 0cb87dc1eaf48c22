import { MemoryCheckpointKeys } from '../../../adapters/memory/index.ts'
import { parseCheckpoint } from '../../../core/log/checkpoint.ts'
import { isRegistryError, openRegistry, OPERATOR, type Registry, type Scope } from '../../../core/index.ts'
import type { TimestampAuthority } from '../../../core/ports/index.ts'
import { createSealer, InlineEngine } from '../../../sealer/index.ts'
import { Stores } from '../../support/registry-fixture.ts'
import { ScriptedChain } from '../../support/scripted-chain.ts'
import { openSimulatedAuthority, type AuthorityKeys } from './authority.ts'
import { OutsideCalls, type Fault } from './outside-calls.ts'

/** A tree that left the process: signed, stamped or anchored. */
export interface PublishedTree {
  readonly size: number
  readonly root: Uint8Array
}

/** Long enough that an operation which does not end is a defect, and not slow. */
const MAX_ROUNDS = 5_000
const ROUND_MS = 250
/** The client's files have about 20 to 400 bytes, so some are small and the others are blobs. */
const SMALL_FILE_BYTES = 150
const TURNS_PER_ROUND = 8
const MAX_STARTS = 40

export const ANCHOR_POLL_MS = 60_000

export const COMPANY = 'acme'
export const SCOPE: Scope = { companyId: COMPANY, principal: OPERATOR }

/** The fake world of one case: stores, clock, chain and authorities that outlive every process, and the process. */
export class World {
  readonly stores = new Stores()
  readonly chain = new ScriptedChain()
  readonly keys = new MemoryCheckpointKeys([new Uint8Array(32).fill(11)])
  readonly outside: OutsideCalls
  readonly published: PublishedTree[] = []
  readonly #authorities: readonly TimestampAuthority[]
  #registry: Registry | undefined

  constructor(faults: readonly Fault[], authorities: readonly AuthorityKeys[]) {
    this.outside = new OutsideCalls(faults, this.stores.clock)
    this.#authorities = authorities.map((keys) =>
      openSimulatedAuthority(keys, this.stores.clock, (bytes) => this.#publish(Buffer.from(bytes).toString())),
    )
  }

  /** The registry. Opens it in a new process if there is none, or if its process has crashed. */
  async registry(): Promise<Registry> {
    if (this.#registry !== undefined && !this.outside.isCrashed) return this.#registry
    await this.close()
    for (let start = 1; start <= MAX_STARTS; start++) {
      try {
        this.#registry = await this.drive(this.#open())
        return this.#registry
      } catch (error) {
        if (!isTransient(error)) throw error
        this.outside.note(`start failed: ${error.code}`)
        await this.stores.clock.advance(ROUND_MS)
      }
    }
    throw new Error(`The registry does not start after ${MAX_STARTS} attempts`)
  }

  /** Closes the registry. A process that crashed leaves everything as it is. */
  async close(): Promise<void> {
    const registry = this.#registry
    this.#registry = undefined
    if (registry === undefined) return
    const isCrashed = this.outside.isCrashed
    await this.drive(registry.close()).catch((error: unknown) => {
      if (!isCrashed && !isTransient(error)) throw error
    })
    this.outside.kill()
  }

  /** Waits for work of the registry. Time passes only while the work waits for it. */
  async drive<T>(work: Promise<T>): Promise<T> {
    let isDone = false
    const finished = work.finally(() => (isDone = true))
    finished.catch(() => undefined)
    for (let round = 0; round < MAX_ROUNDS; round++) {
      for (let turn = 0; turn < TURNS_PER_ROUND; turn++) {
        await new Promise((resolve) => setImmediate(resolve))
        if (isDone) return finished
      }
      await this.stores.clock.advance(ROUND_MS)
    }
    throw new Error(`An operation does not end within ${(MAX_ROUNDS * ROUND_MS) / 1000} simulated seconds`)
  }

  /** Notes the newest checkpoint that the registry publishes, and those that it sent to the chain. */
  async notePublished(): Promise<void> {
    const note = await this.#registry?.log.latestCheckpoint().catch(() => undefined)
    if (note !== undefined) this.#publish(note)
    for (const { checkpoint } of this.chain.prepared.splice(0)) this.#publish(checkpoint)
  }

  #publish(note: string): void {
    const { size, root } = parseCheckpoint(note)
    this.published.push({ size, root })
  }

  async #open(): Promise<Registry> {
    const { records, blobs, signedHead, clock, secret } = this.stores
    const outside = this.outside.startProcess({
      records,
      blobs,
      signedHead,
      anchor: this.chain,
      authorities: this.#authorities,
    })
    const { anchor, authorities } = outside
    const sealer = createSealer({
      engine: new InlineEngine(),
      timestampAuthorities: authorities,
      quorum: authorities.length,
      anchor,
      maxWaitMs: 5_000,
      tsaIntervalMs: 0,
      anchorIntervalMs: 0,
      pollIntervalMs: 600_000,
      anchorPollIntervalMs: ANCHOR_POLL_MS,
      anchorReplaceAfterMs: 3 * ANCHOR_POLL_MS,
    })
    return openRegistry({
      records: outside.records,
      blobs: outside.blobs,
      signedHead: outside.signedHead,
      secret,
      clock,
      sealer,
      checkpointSigner: this.keys,
      smallFileBytes: SMALL_FILE_BYTES,
    })
  }
}

/** The codes of errors after which a caller tries again. */
const TRANSIENT: ReadonlySet<string> = new Set(['UNAVAILABLE', 'UNKNOWN_OUTCOME', 'ANCHOR_FAILED', 'AUTHORITY_FAILED'])

export const isTransient = (error: unknown): error is Error & { readonly code: string } =>
  isRegistryError(error) && TRANSIENT.has(error.code)

import { isRegistryError, RegistryError } from '../../errors.ts'
import type { EventEngine, Logger } from '../../ports/index.ts'
import { type EvidenceDraft, type MadeEvidence, makeEvidences, type MakeRequest } from './make.ts'
import { decodeUtf8, readU64, u64 } from '../../bytes.ts'
import { encodeRecord } from '../../store/read.ts'

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
  async make(request: MakeRequest): Promise<readonly MadeEvidence[]> {
    const engine = this.#engine
    const { target, drafts } = request
    if (engine === undefined || drafts.length < MIN_ENGINE_EVIDENCES) return makeEvidences(request)
    const ownCount = Math.floor(drafts.length * OWN_SHARE)
    const [others, own] = await Promise.all([
      this.#makeInEngine(engine, { target, drafts: drafts.slice(ownCount) }),
      // In a later turn of the event loop, when a running worker has its part.
      nextTurn().then(() => makeEvidences({ target, drafts: drafts.slice(0, ownCount) })),
    ])
    return [...own, ...others]
  }

  /** If the engine fails, makes them in the calling thread. So it works on a machine that cannot run workers, too. */
  async #makeInEngine(engine: EventEngine, request: MakeRequest): Promise<readonly MadeEvidence[]> {
    try {
      return unpackEvidences(await engine.makeEvidences(packRequest(request)), request.drafts)
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

/**
 * How evidences are made in another thread: the request as one text, the result as one piece of bytes that is
 * transferred without a copy. Cloning the objects would take longer than making them.
 *
 *     result = u64(bytes of the header) ‖ header ‖ values of writes, entry and payload of each evidence
 */

/** JSON. The number of bytes stands for the bytes; `null` is a deletion. */
type PackedHeader = readonly PackedEvidence[]

interface PackedEvidence {
  readonly keys: readonly string[]
  readonly sizes: readonly (number | null)[]
  readonly append: readonly [entryBytes: number, payloadBytes: number]
}

/** The request to an `EventEngine`. */
export const packRequest = (request: MakeRequest): string => JSON.stringify(request)

/** Makes the evidences of a packed request. What an `EventEngine` runs in another thread. */
export function makePackedEvidences(packed: string): Uint8Array<ArrayBuffer> {
  // Made by `packRequest` of the same version.
  const request: MakeRequest = JSON.parse(packed)
  return packEvidences(makeEvidences(request))
}

function packEvidences(made: readonly MadeEvidence[]): Uint8Array<ArrayBuffer> {
  const header = encodeRecord(made.map(packedEvidence) satisfies PackedHeader)
  const parts = [u64(header.length), header]
  for (const { writes, append } of made) {
    for (const { value } of writes) if (value !== null && value.length > 0) parts.push(value)
    parts.push(append.entry, append.payload)
  }
  return joinTransferable(parts)
}

const packedEvidence = ({ writes, append: { entry, payload } }: MadeEvidence): PackedEvidence => ({
  keys: writes.map(({ key }) => key),
  sizes: writes.map(({ value }) => value?.length ?? null),
  append: [entry.length, payload.length],
})

/** As `concatBytes`, in memory of its own: memory of Buffer's pool cannot be transferred. */
function joinTransferable(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

const NO_BYTES = new Uint8Array()

/**
 * The evidences that `makePackedEvidences` made of these drafts. Their bytes are views of the packed ones. Throws
 * `ENGINE_FAILED` if there are not as many.
 */
export function unpackEvidences(packed: Uint8Array, drafts: readonly EvidenceDraft[]): readonly MadeEvidence[] {
  let at = 8 + readU64(packed, 0)
  // Made by `packEvidences` of the same version.
  const header: PackedHeader = JSON.parse(decodeUtf8(packed.subarray(8, at)))
  const next = (length: number): Uint8Array => (length === 0 ? NO_BYTES : packed.subarray(at, (at += length)))
  return drafts.map((draft, i) => {
    const made = header[i]
    if (made === undefined) throw new RegistryError('ENGINE_FAILED', 'The event engine has made too few evidences')
    const writes = made.keys.map((key, j) => ({
      key,
      value: typeof made.sizes[j] === 'number' ? next(made.sizes[j]) : null,
    }))
    const [entryBytes, payloadBytes] = made.append
    return { draft, writes, append: { entry: next(entryBytes), payload: next(payloadBytes) } }
  })
}

import { createHash, type Hash } from 'node:crypto'
import { isRegistryError, RegistryError, type ErrorCode } from '../../../core/errors.ts'
import { decorateBlobs, decorateRecords } from '../../../core/store/decorate.ts'
import type {
  Anchor,
  BlobStore,
  Clock,
  Commit,
  RecordStore,
  SignedHeadKeeper,
  TimestampAuthority,
} from '../../../core/ports/index.ts'

/**
 * What happens to one outside call. `lies`: it reports success and does nothing. `halves`: it reports success, and the
 * first half of the commit's writes is missing. Only controls use these two, to show that the checks notice a broken
 * promise.
 */
export type Effect = (typeof CHANGE_EFFECTS)[number] | 'lies' | 'halves'

/** Effects of calls that change something. */
export const CHANGE_EFFECTS = [
  'fails',
  'fails, outcome unknown',
  'fails but applied',
  'crash before',
  'crash after',
] as const
/** Effects of calls that only read. */
export const READ_EFFECTS = ['fails', 'crash before'] as const

export interface Fault {
  /** Which outside call, counted from 1 over all processes of a case. */
  readonly call: number
  readonly effect: Effect
}

/** One outside call of a case. */
export interface OutsideCall {
  readonly name: string
  readonly isChange: boolean
  /** For commits: the families of the keys that it writes, and how many entries it appends. */
  readonly families: readonly string[]
  readonly appends: number
}

/** The outside of one process. */
export interface Outside {
  readonly records: RecordStore
  readonly blobs: BlobStore
  readonly signedHead: SignedHeadKeeper
  readonly anchor: Anchor
  readonly authorities: readonly TimestampAuthority[]
}

interface Process {
  isCrashed: boolean
}

interface Call<T> {
  readonly name: string
  readonly isChange: boolean
  /** Goes into the trace. */
  readonly input?: string
  readonly commit?: Commit
  readonly act: () => Promise<T>
  /** What a call does that lies, or halves. */
  readonly lie?: () => Promise<T>
  readonly halve?: () => Promise<T>
  /** Of the error if nothing was applied, and if that is not known. */
  readonly codes: readonly [failed: ErrorCode, unknown: ErrorCode]
}

const RECORD_CODES = ['UNAVAILABLE', 'UNKNOWN_OUTCOME'] as const
const PLAIN_CODES = ['UNAVAILABLE', 'UNAVAILABLE'] as const
const ANCHOR_CODES = ['ANCHOR_FAILED', 'ANCHOR_FAILED'] as const
const AUTHORITY_CODES = ['AUTHORITY_FAILED', 'AUTHORITY_FAILED'] as const

/**
 * Counts every call that leaves the registry, gives each the effect that was planned for it, and hashes all of them
 * with their results into a trace.
 */
export class OutsideCalls {
  readonly calls: OutsideCall[] = []
  /** The planned faults that happened. */
  readonly faults: Fault[] = []
  readonly #planned: ReadonlyMap<number, Effect>
  readonly #clock: Clock
  readonly #trace: Hash = createHash('sha256')
  #isArmed = true
  #process: Process = { isCrashed: false }

  constructor(faults: readonly Fault[], clock: Clock) {
    this.#planned = new Map(faults.map(({ call, effect }) => [call, effect]))
    this.#clock = clock
  }

  get isCrashed(): boolean {
    return this.#process.isCrashed
  }

  /** From now on every call succeeds. */
  disarm(): void {
    this.#isArmed = false
  }

  /** The process is killed: every later call of it fails. */
  kill(): void {
    this.#process.isCrashed = true
  }

  note(text: string): void {
    this.#trace.update(`${this.#clock.now()} ${text}\n`)
  }

  /** The hash of everything so far. */
  traceHash(): string {
    return this.#trace.copy().digest('hex')
  }

  /** The outside as a new process uses it. Closing it leaves the real stores open. */
  startProcess({ records, blobs, signedHead, anchor, authorities }: Outside): Outside {
    const process: Process = { isCrashed: false }
    this.#process = process
    const call = <T>(each: Call<T>): Promise<T> => this.#call(process, each)
    const read = <T>(name: string, act: () => Promise<T>): Promise<T> =>
      call({ name, isChange: false, act, codes: PLAIN_CODES })
    return {
      records: decorateRecords(records, {
        get: (keys) => read(`get ${keys.join(' ')}`, () => records.get(keys)),
        list: (range) => listOf(read, records, range),
        commit: (commit) =>
          call({
            name: 'commit',
            isChange: true,
            commit,
            act: () => records.commit(commit),
            lie: async () => ({ ok: true, version: '0' as never, firstPosition: await records.logSize() }),
            halve: () => records.commit({ ...commit, writes: secondHalf(commit.writes ?? []) }),
            codes: RECORD_CODES,
          }),
        readLog: (from, count) => read(`readLog ${from} ${count}`, () => records.readLog(from, count)),
        readPayloads: (from, count) => read(`readPayloads ${from} ${count}`, () => records.readPayloads(from, count)),
        logSize: () => read('logSize', () => records.logSize()),
        positionsOf: (entries) => read(`positionsOf ${entries.length}`, () => records.positionsOf(entries)),
        close: async () => undefined,
      }),
      blobs: decorateBlobs(blobs, {
        put: (key, body, options) =>
          call({
            name: 'put',
            isChange: true,
            input: key,
            act: () => blobs.put(key, body, options),
            lie: async () => {
              const digest = await blobs.put(key, body, options)
              await blobs.delete(key)
              return digest
            },
            codes: PLAIN_CODES,
          }),
        get: (key, range, signal) => read(`get blob ${key}`, () => blobs.get(key, range, signal)),
        delete: (key) =>
          call({ name: 'delete', isChange: true, input: key, act: () => blobs.delete(key), codes: PLAIN_CODES }),
        close: async () => undefined,
      }),
      signedHead: {
        read: () => read('read head', () => signedHead.read()),
        write: (head) =>
          call({
            name: 'write head',
            isChange: true,
            input: `${head.size} ${Buffer.from(head.root).toString('hex')}`,
            act: () => signedHead.write(head),
            codes: PLAIN_CODES,
          }),
      },
      anchor: anchorOf(call, anchor),
      authorities: authorities.map((authority) => authorityOf(call, authority)),
    }
  }

  async #call<T>(process: Process, each: Call<T>): Promise<T> {
    const { name, isChange, input = '', commit, codes } = each
    const crashed = (): RegistryError => new RegistryError(codes[0], 'Injected: this process has crashed')
    if (process.isCrashed) throw crashed()
    this.calls.push({ name, isChange, families: familiesOf(commit), appends: commit?.append?.length ?? 0 })
    const call = this.calls.length
    const effect = this.#isArmed ? this.#planned.get(call) : undefined
    if (effect !== undefined) this.faults.push({ call, effect })
    this.note(`${call} ${name} ${input} ${commit === undefined ? '' : textOf(commit)} ${effect ?? ''}`)
    if (effect === 'crash before') process.isCrashed = true
    if (effect === 'crash before' || effect === 'fails') throw new RegistryError(codes[0], `Injected: ${effect}`)
    if (effect === 'fails, outcome unknown') throw new RegistryError(codes[1], `Injected: ${effect}`)
    const act = (effect === 'lies' && each.lie) || (effect === 'halves' && each.halve) || each.act
    const result = await act().catch((error: unknown) => {
      this.note(`${call} threw ${isRegistryError(error) ? error.code : String(error)}`)
      throw error
    })
    this.note(`${call} returned ${textOf(result)}`)
    if (effect === 'crash after') process.isCrashed = true
    if (effect === 'crash after' || effect === 'fails but applied') throw new RegistryError(codes[1], 'Injected: lost')
    return result
  }
}

type Make = <T>(call: Call<T>) => Promise<T>
type Read = <T>(name: string, act: () => Promise<T>) => Promise<T>

async function* listOf(read: Read, records: RecordStore, range: Parameters<RecordStore['list']>[0]) {
  await read(`list ${range.gte}`, async () => undefined)
  yield* records.list(range)
}

const anchorOf = (call: Make, anchor: Anchor): Anchor => ({
  info: anchor.info,
  funds: anchor.funds,
  prepare: (request, signal) =>
    call({ name: 'prepare', isChange: true, act: () => anchor.prepare(request, signal), codes: ANCHOR_CODES }),
  broadcast: (raw, signal) =>
    call({ name: 'broadcast', isChange: true, act: () => anchor.broadcast(raw, signal), codes: ANCHOR_CODES }),
  status: (transactions, signal) =>
    call({ name: 'status', isChange: false, act: () => anchor.status(transactions, signal), codes: ANCHOR_CODES }),
  findForeignUse: (own, confirmed, signal) =>
    call({
      name: 'nonces',
      isChange: false,
      act: () => anchor.findForeignUse(own, confirmed, signal),
      codes: ANCHOR_CODES,
    }),
  close: async () => undefined,
})

const authorityOf = (call: Make, authority: TimestampAuthority): TimestampAuthority => ({
  info: authority.info,
  stamp: (bytes, signal) =>
    call({ name: 'stamp', isChange: true, act: () => authority.stamp(bytes, signal), codes: AUTHORITY_CODES }),
  validationDataOf: (response, signal) => authority.validationDataOf(response, signal),
  close: async () => undefined,
})

const secondHalf = <T>(items: readonly T[]): readonly T[] => items.slice(Math.ceil(items.length / 2))

const familiesOf = (commit: Commit | undefined): readonly string[] => [
  ...new Set((commit?.writes ?? []).map(({ key }) => key.split('/')[0] ?? '')),
]

/** A text that differs if the values differ. Bytes are written in base64. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    each instanceof Uint8Array ? Buffer.from(each).toString('base64') : each,
  ) ?? ''

import { toHex } from '../bytes.ts'
import type { Entry, Key, Range, RecordStore } from '../ports/index.ts'
import { decorateRecords } from '../store/decorate-records.ts'
import { DamagedValueError } from '../store/envelope.ts'
import { isRegistryError } from '../errors.ts'

/** Whether an error says that what is stored is damaged: it fails each time, while the rest can be read. */
export const isDamage = (error: unknown): boolean => isRegistryError(error, 'CORRUPT') || isReadError(error)

/** Whether an error says that a store cannot be reached, which says nothing about what it holds. */
export const isOutage = (error: unknown): boolean =>
  (isRegistryError(error, 'UNAVAILABLE') || isRegistryError(error, 'CLOSED')) && !isReadError(error)

/** A sector that the disk cannot read. LevelDB reports errors of the system only as texts: those of strerror(3). */
const isReadError = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && error.code === 'EIO') ||
    error.message.includes('Input/output error') ||
    isReadError(error.cause))

export interface DamageHandlers {
  /** A record that fails its CRC-32. */
  readonly onDamaged: (key: Key) => void
  /** A log entry whose position cannot be read. */
  readonly onDamagedPosition: (entry: Uint8Array) => void
}

/**
 * Reads a store whose records and positions of log entries may be damaged: what is damaged is reported once, and then
 * treated as missing. So a check can continue, and find out whether it follows from others.
 */
export function tolerantRecords(records: RecordStore, { onDamaged, onDamagedPosition }: DamageHandlers): RecordStore {
  const damaged = new Set<Key>()
  const note = (error: unknown): Key => {
    if (!(error instanceof DamagedValueError)) throw error
    if (!damaged.has(error.key)) onDamaged(error.key)
    damaged.add(error.key)
    return error.key
  }
  const get = async (keys: readonly Key[]): Promise<readonly (Entry | undefined)[]> => {
    const readable = keys.filter((key) => !damaged.has(key))
    try {
      const entries = await records.get(readable)
      const byKey = new Map(readable.map((key, i) => [key, entries[i]]))
      return keys.map((key) => byKey.get(key))
    } catch (error) {
      // Not one of these keys: trying again would fail again.
      if (!readable.includes(note(error))) throw error
      return get(keys)
    }
  }
  return decorateRecords(records, {
    get,
    list: (range) => listAround(records, range, note),
    positionsOf: tolerantPositions(records, onDamagedPosition),
  })
}

/** If one of several positions is damaged, each is read by itself. */
function tolerantPositions(
  records: RecordStore,
  onDamagedPosition: DamageHandlers['onDamagedPosition'],
): RecordStore['positionsOf'] {
  const damaged = new Set<string>()
  const positionOf = async (entry: Uint8Array): Promise<number | undefined> => {
    try {
      const [position] = await records.positionsOf([entry])
      return position
    } catch (error) {
      if (!isDamage(error)) throw error
      const name = toHex(entry)
      if (!damaged.has(name)) onDamagedPosition(entry)
      damaged.add(name)
      return undefined
    }
  }
  return async (entries) => {
    try {
      return await records.positionsOf(entries)
    } catch (error) {
      if (!isDamage(error)) throw error
      const positions: (number | undefined)[] = []
      for (const entry of entries) positions.push(await positionOf(entry))
      return positions
    }
  }
}

/** Lists a range, and continues behind each damaged record. */
async function* listAround(
  records: RecordStore,
  range: Range,
  note: (error: unknown) => Key,
): AsyncGenerator<Entry, void, undefined> {
  let { gte, lt, limit = Infinity } = range
  for (;;) {
    try {
      for await (const entry of records.list({ ...range, gte, lt, ...(limit < Infinity && { limit }) })) {
        limit -= 1
        yield entry
      }
      return
    } catch (error) {
      const key = note(error)
      // The listing must go on behind the key, or it would never end.
      if (key < gte || key >= lt) throw error
      if (range.reverse === true) lt = key
      else gte = `${key}\0`
    }
  }
}

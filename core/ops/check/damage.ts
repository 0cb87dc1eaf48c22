import type { Stored, Key, Range, RecordStore } from '../../ports/index.ts'
import { isError, isRegistryError } from '../../errors.ts'
import { DamagedValueError } from '../../store/checksum.ts'
import { decorateRecords } from '../../store/decorate.ts'

/** Whether an error says that what is stored is damaged: it fails each time, while the rest can be read. */
export const isDamage = (error: unknown): error is Error => isRegistryError(error, 'CORRUPT') || isReadError(error)

/** Whether an error says that a store cannot be reached, which says nothing about what it holds. */
export const isOutage = (error: unknown): boolean =>
  (isRegistryError(error, 'UNAVAILABLE') || isRegistryError(error, 'CLOSED')) && !isReadError(error)

/** A sector that the disk cannot read. LevelDB reports errors of the system only as texts: those of strerror(3). */
const isReadError = (error: unknown): error is Error =>
  isError(error) &&
  (('code' in error && error.code === 'EIO') ||
    error.message.includes('Input/output error') ||
    isReadError(error.cause))

export interface DamageHandlers {
  /** A record that fails its CRC-32. Called each time that it is read. */
  readonly onDamaged: (key: Key) => void
  /** A log entry whose position cannot be read. */
  readonly onDamagedPosition: (entry: Uint8Array) => void
  /** How many bytes of records were read. */
  readonly onBytes: (bytes: number) => void
}

/**
 * Reads a store whose records and positions of log entries may be damaged: what is damaged is reported, and treated as
 * missing. So a check can continue, and find out whether it follows from others.
 */
export function tolerantRecords(records: RecordStore, handlers: DamageHandlers): RecordStore {
  return decorateRecords(records, {
    get: (keys) => getReadable(records, keys, handlers),
    list: (range) => listAround(records, range, handlers),
    positionsOf: (entries) => readablePositions(records, entries, handlers),
  })
}

const noteDamage = (error: unknown, { onDamaged }: DamageHandlers): Key => {
  if (!(error instanceof DamagedValueError)) throw error
  onDamaged(error.key)
  return error.key
}

const bytesOf = ({ key, value }: Stored): number => key.length + value.length

async function getReadable(
  records: RecordStore,
  keys: readonly Key[],
  handlers: DamageHandlers,
): Promise<readonly (Stored | undefined)[]> {
  try {
    const entries = await records.get(keys)
    for (const entry of entries) if (entry !== undefined) handlers.onBytes(bytesOf(entry))
    return entries
  } catch (error) {
    const damaged = noteDamage(error, handlers)
    const readable = keys.filter((key) => key !== damaged)
    // Not one of these keys: trying again would fail again.
    if (readable.length === keys.length) throw error
    const entries = await getReadable(records, readable, handlers)
    const byKey = new Map(readable.map((key, i) => [key, entries[i]]))
    return keys.map((key) => byKey.get(key))
  }
}

/** If one of several positions is damaged, each is read by itself. */
async function readablePositions(
  records: RecordStore,
  entries: readonly Uint8Array[],
  handlers: DamageHandlers,
): Promise<readonly (number | undefined)[]> {
  try {
    return await records.positionsOf(entries)
  } catch (error) {
    const [entry] = entries
    if (!isDamage(error) || entry === undefined) throw error
    if (entries.length === 1) {
      handlers.onDamagedPosition(entry)
      return [undefined]
    }
    const positions: (number | undefined)[] = []
    for (const each of entries) positions.push(...(await readablePositions(records, [each], handlers)))
    return positions
  }
}

/** Lists a range, and continues behind each damaged record. */
async function* listAround(
  records: RecordStore,
  range: Range,
  handlers: DamageHandlers,
): AsyncGenerator<Stored, void, undefined> {
  let { gte, lt, limit = Infinity } = range
  for (;;) {
    try {
      for await (const entry of records.list({ ...range, gte, lt, ...(limit < Infinity && { limit }) })) {
        limit -= 1
        handlers.onBytes(bytesOf(entry))
        yield entry
      }
      return
    } catch (error) {
      const key = noteDamage(error, handlers)
      // The listing must go on behind the key, or it would never end.
      if (key < gte || key >= lt) throw error
      if (range.reverse === true) lt = key
      else gte = `${key}\0`
    }
  }
}

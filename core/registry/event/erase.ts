import { toHex } from '../../bytes.ts'
import { fieldHash, fileHash } from '../../commitment/event-format.ts'
import type { EventRecord } from '../../store/records.ts'
import { bytesOf, damagedEvent, remainingSalts, saltedOf, saltOf } from './salted.ts'

/** Names of the fields and ids of the attached files to erase. */
interface Parts {
  readonly fields: readonly string[]
  readonly files: readonly string[]
}

const HASHES = { fields: fieldHash, files: fileHash } as const

/**
 * The event without some fields and attached files: their values and salts are removed, their commitments stay. The
 * seed would give the salts again, so it is replaced by the salts that remain. Throws `CORRUPT` if the event does not
 * hold one of them.
 */
export function eraseParts(event: EventRecord, parts: Parts): EventRecord {
  const salted = saltedOf(event)
  const salts = remainingSalts(salted)
  const hashesOf = (kind: keyof Parts): Record<string, string> => {
    const { names, texts } = salted[kind]
    const hashed = parts[kind].map((name) => {
      const text = texts[names.indexOf(name)]
      if (text === undefined) throw damagedEvent(`event ${event.txId} does not hold ${name}`)
      return [name, toHex(HASHES[kind](bytesOf(saltOf(salts[kind], name)), text))] as const
    })
    return { ...event.erased?.[kind], ...Object.fromEntries(hashed) }
  }
  return {
    ...event,
    fields: without(event.fields, parts.fields),
    files: without(event.files, parts.files),
    salts: { ...salts, fields: without(salts.fields, parts.fields), files: without(salts.files, parts.files) },
    erased: { ...event.erased, fields: hashesOf('fields'), files: hashesOf('files') },
  }
}

/** The event with the time of the erasure of values. */
export function withTimes(event: EventRecord, names: readonly string[], at: number): EventRecord {
  const { erased = { fields: {}, files: {} } } = event
  const times = { ...event.erased?.at, ...Object.fromEntries(names.map((name) => [name, at])) }
  return { ...event, erased: { ...erased, at: times } }
}

const without = <T>(map: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(map).filter(([name]) => !names.includes(name)))

import { toHex } from '../../bytes.ts'
import { fileHash } from '../../commitment/event-format.ts'
import type { EventRecord, RemainingSalts } from '../../store/records.ts'
import { bytesOf, damagedEvent, remainingSalts, saltedOf, saltOf } from './salted.ts'

/**
 * The event without one attached file: its name, hash, size and salt are removed, its commitment stays. The seed would
 * give the salt again, so it is replaced by the salts that remain. Throws `CORRUPT` if the event does not hold the
 * file.
 */
export function eraseFile(event: EventRecord, fileId: string): EventRecord {
  const salted = saltedOf(event)
  const salts = remainingSalts(salted)
  const text = salted.files.texts[salted.files.names.indexOf(fileId)]
  if (text === undefined) throw damagedEvent(`event ${event.txId} does not hold the file ${fileId}`)
  const hash = toHex(fileHash(bytesOf(saltOf(salts.files, fileId)), text))
  const remaining: RemainingSalts = { ...salts, files: without(salts.files, fileId) }
  return {
    ...event,
    files: without(event.files, fileId),
    salts: remaining,
    erased: { fields: event.erased?.fields ?? {}, files: { ...event.erased?.files, [fileId]: hash } },
  }
}

function without<T>(map: Readonly<Record<string, T>>, name: string): Record<string, T> {
  const { [name]: _, ...rest } = map
  return rest
}

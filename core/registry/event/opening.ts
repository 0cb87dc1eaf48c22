import {
  type Disclosure,
  fieldHashes,
  fileHashes,
  filesHash,
  hashesText,
  headerHash,
  headerText,
  openingBytes,
  slotHash,
  txIdOf,
} from '../../commitment/event-format.ts'
import type { EventRecord } from '../../store/records.ts'
import { type Salted, type Texts, damagedEvent, remainingSalts, saltAt, saltOf, saltedOf } from './salted.ts'
import { sortedNames } from '../../commitment/canonical-json.ts'
import { storedBase64 } from '../../store/codec.ts'
import { toHex } from '../../bytes.ts'

/** What an event commits to beside its own record. */
interface EventOrigin {
  /** The log's name. */
  readonly origin: string
  /** 32 bytes, base64. */
  readonly slotKey: string
}

/** What an event is hashed from, beside its texts. */
export type EventHead = Pick<EventRecord, 'version' | 'time' | 'first' | 'prev' | 'erased'>

/** Computes an event's opening, and the texts that it is the hash of. */
export function bindEvent(
  { first, prev, version, time, erased }: EventHead,
  { fields, files, salts }: Salted,
  origin: string,
  slotKey: Uint8Array,
) {
  const ofFields = fieldHashes(fields.texts, salts, 1)
  const ofFiles = fileHashes(files.texts, salts, 1 + ofFields.length)
  const fieldsText = textWithErased(fields.names, ofFields, erased?.fields)
  const header = headerText({ fields: fieldsText, first, log: origin, prev, version })
  const filesText = textWithErased(files.names, ofFiles, erased?.files)
  const opening = openingBytes({
    slot: slotHash(slotKey, version),
    time,
    header: headerHash(header),
    files: filesHash(saltAt(salts, 0), filesText),
  })
  return { opening, header, filesText }
}

/** The text of the hashes by name, also of those of what is erased. */
function textWithErased(
  names: readonly string[],
  hashes: readonly string[],
  erased: Readonly<Record<string, string>> | undefined,
): string {
  if (erased === undefined) return hashesText(names, hashes)
  const all = { ...erased, ...Object.fromEntries(names.map((name, i) => [name, hashes[i] ?? ''])) }
  const sorted = sortedNames(all)
  return hashesText(
    sorted,
    sorted.map((name) => all[name] ?? ''),
  )
}

/** The opening of an event, without its disclosure, which takes a third of the time. Does not compare the txId. */
export const openingOf = (event: EventRecord, { origin, slotKey }: EventOrigin): Uint8Array =>
  bindEvent(event, saltedOf(event), origin, storedBase64(slotKey, 'A slot key')).opening

/** As `openingOf`. Throws as `discloseEvent`. */
export function checkedOpeningOf(event: EventRecord, source: EventOrigin): Uint8Array {
  const opening = openingOf(event, source)
  assertTxId(event, opening)
  return opening
}

function assertTxId({ version, txId }: EventRecord, opening: Uint8Array): void {
  if (toHex(txIdOf(opening)) !== txId) throw damagedEvent(`version ${version} does not hash to its txId ${txId}`)
}

/**
 * The disclosure of an event: every text and salt that is not erased. Throws `CORRUPT` if the record does not hash to
 * its txId: it must not be shown as if it did.
 */
export function discloseEvent(event: EventRecord, { origin, slotKey }: EventOrigin): Disclosure {
  const salted = saltedOf(event)
  const { opening, header, filesText } = bindEvent(event, salted, origin, storedBase64(slotKey, 'A slot key'))
  assertTxId(event, opening)
  const { filesSalt, fields, files } = remainingSalts(salted)
  return {
    opening: toHex(opening),
    header,
    filesText,
    filesSalt,
    fields: disclosed(salted.fields, fields),
    files: disclosed(salted.files, files),
  }
}

/** The texts with their salts (hex), by the name of the field or the id of the file. */
const disclosed = ({ names, texts }: Texts, salts: Readonly<Record<string, string>>): Disclosure['fields'] =>
  Object.fromEntries(names.map((name, i) => [name, { text: texts[i] ?? '', salt: saltOf(salts, name) }]))

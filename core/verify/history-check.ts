import type { Json } from '../commitment/canonical-json.ts'
import { verificationError } from '../errors.ts'
import { assertSlot, type VerifiedEvent } from './event.ts'
import { asHash, asString } from './untrusted.ts'

/** Fields that must have the same value in all versions. */
const CONSTANT_FIELDS = ['company', 'evidence', 'externalId'] as const

/**
 * Verifies that events are one history, one after the other, from version 1 on without a gap. What an event does not
 * disclose cannot be compared.
 */
export class HistoryCheck {
  #first: VerifiedEvent | undefined
  #previous: VerifiedEvent | undefined
  readonly #constants = new Map<string, string>()
  /** By file id, the txId of the event that attached the file. */
  readonly #attached = new Map<string, string>()
  readonly #deleted = new Set<string>()

  /** Throws `VERIFICATION_FAILED`. */
  add(event: VerifiedEvent): void {
    const previous = this.#previous
    const first = (this.#first ??= event)
    const { version } = event
    const expected = (previous?.version ?? 0) + 1
    if (version !== expected) throw verificationError(`Expected version ${expected}, got version ${version}`)
    if (version > 1 && event.first !== first.txId)
      throw verificationError(`Version ${version} belongs to another history`)
    if (version > 1 && event.prev !== previous?.txId)
      throw verificationError(`Version ${version} does not link to the previous version`)
    if (event.log !== first.log) throw verificationError(`Version ${version} belongs to another log`)
    if (event.time < (previous?.time ?? 0))
      throw verificationError(`Version ${version} is older than the previous version`)
    const slotKey = first.fields.get('slotKey')
    if (slotKey !== undefined) assertSlot(event, asHash(slotKey, 'The slot key of version 1'))
    for (const name of CONSTANT_FIELDS) this.#assertConstant(name, event.fields.get(name), version)
    this.#addFiles(event)
    this.#previous = event
  }

  /** A field that several versions disclose must have one value. */
  #assertConstant(name: string, value: Json | undefined, version: number): void {
    if (value === undefined) return
    const text = asString(value, `The ${name} of version ${version}`)
    const earlier = this.#constants.get(name) ?? text
    if (earlier !== text) throw verificationError(`Version ${version} has another ${name}`)
    this.#constants.set(name, text)
  }

  /**
   * An event that deletes a file must name the event that attached it, and no file is deleted twice. A deletion holds
   * the file's id too, so only the first event with the id attached it.
   */
  #addFiles({ txId, version, files, hiddenFiles }: VerifiedEvent): void {
    for (const [id, file] of files) {
      if (!('deleted' in file)) continue
      if (this.#attached.get(id) !== file.deleted)
        throw verificationError(
          `Version ${version} deletes the file ${id}, but the event that it names did not attach it`,
        )
      if (this.#deleted.has(id)) throw verificationError(`Version ${version} deletes the file ${id} a second time`)
      this.#deleted.add(id)
    }
    for (const id of [...files.keys(), ...hiddenFiles]) if (!this.#attached.has(id)) this.#attached.set(id, txId)
  }
}

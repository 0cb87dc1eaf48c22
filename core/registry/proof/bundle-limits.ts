import { type Extent, extentOf, isReadable, MAX_BUNDLE_LENGTH } from '../../commitment/bundle-format.ts'
import { RegistryError } from '../../errors.ts'
import type { Bundle, BundleEvent } from '../../schemas/bundle.ts'
import { Turns } from './turns.ts'

/** What a bundle may hold so that a verifier reads it, counted as it will be written. */

export const tooLarge = (): RegistryError =>
  new RegistryError(
    'BUNDLE_TOO_LARGE',
    'A verifier would refuse the bundle: disclose fewer `fields`, or name the `versions` to disclose, such as 1-100',
  )

const NOTHING: Extent = { length: 0, separators: 0 }
/** Between two events. */
const COMMA = extentOf(',')
const extentAsJson = (value: object): Extent => extentOf(JSON.stringify(value))
const sum = (...extents: readonly Extent[]): Extent => ({
  length: extents.reduce((all, { length }) => all + length, 0),
  separators: extents.reduce((all, { separators }) => all + separators, 0),
})
const negative = ({ length, separators }: Extent): Extent => ({ length: -length, separators: -separators })

type Values = Pick<BundleEvent, 'fields' | 'files'>
type Bare<T> = Omit<T, 'fields' | 'files'> & Pick<BundleEvent, 'fields'>

/** An event without files, and with these fields only. */
function bare<T extends Values>({ fields = {}, files: _, ...others }: T, kept: readonly string[]): Bare<T> {
  const entries = Object.entries(fields).filter(([name]) => kept.includes(name))
  return { ...others, ...(entries.length > 0 && { fields: Object.fromEntries(entries) }) }
}

/**
 * Small bundles need no look at their text: an event separates some 110,000 values at most, and of certificates, lists
 * and responses one has 11 MB at most.
 */
const [SMALL_EVENTS, SMALL_PIECES] = [12, 2]

/**
 * Counts what the events of a bundle disclose, before they are proven, the newest one first.
 *
 * @param events - how many there are
 * @param kept - the fields that stay if other values do not fit. Default: all values must fit
 */
export class Room {
  readonly #kept: readonly string[] | undefined
  readonly #isEnough: boolean
  #bare = NOTHING
  #whole = NOTHING

  constructor(events: number, kept: readonly string[] | undefined) {
    this.#kept = kept
    this.#isEnough = events < SMALL_EVENTS
  }

  /** Returns the event; from the first one on whose values do not fit, without them. Throws `BUNDLE_TOO_LARGE`. */
  take<T extends Values>(event: T): T | Bare<T> {
    if (this.#isEnough) return event
    const least = this.#kept === undefined ? event : bare(event, this.#kept)
    this.#bare = sum(this.#bare, extentAsJson(least))
    if (!isReadable(this.#bare)) throw tooLarge()
    if (this.#kept === undefined || !isReadable(this.#whole)) return least
    this.#whole = sum(this.#whole, extentAsJson(event))
    return isReadable(this.#whole) ? event : least
  }
}

/** If events do not fit even without values, their proofs leave a quarter for the newest values. */
const MAX_BARE_LENGTH = (MAX_BUNDLE_LENGTH / 4) * 3

/**
 * The bundle with as much as a verifier reads. Throws `BUNDLE_TOO_LARGE`.
 *
 * @param kept - as for `Room`
 */
export async function fitted(bundle: Bundle, kept?: readonly string[]): Promise<Bundle> {
  const { events, ...others } = bundle
  if (events.length < SMALL_EVENTS && others.validationData.length < SMALL_PIECES) return bundle
  const turns = new Turns()
  const fitting = kept === undefined ? [...events] : events.map((event) => bare(event, kept))
  let extent = extentAsJson({ ...others, events: [] })
  for (const event of fitting) {
    const added = extentAsJson(event)
    extent = sum(extent, added, COMMA)
    await turns.add(added.length)
  }
  if (kept === undefined && isReadable(extent)) return bundle
  if (kept !== undefined && !isReadable(extent)) extent = withoutSecondProofs(fitting, extent)
  if (kept === undefined || !isReadable(extent)) throw tooLarge()
  for (const [i, event] of [...events.entries()].toReversed()) {
    const present = fitting[i] ?? event
    const whole = { ...event, inclusion: present.inclusion }
    const added = extentAsJson(whole)
    const next = sum(extent, negative(extentAsJson(present)), added)
    if (!isReadable(next)) break
    extent = next
    fitting[i] = whole
    await turns.add(added.length)
  }
  return { ...bundle, events: fitting }
}

/** Proves the oldest events under one checkpoint only, until the bundle has room for values. Returns its extent. */
function withoutSecondProofs(events: BundleEvent[], tooMuch: Extent): Extent {
  let extent = tooMuch
  for (const [i, event] of events.entries()) {
    if (extent.length <= MAX_BARE_LENGTH) break
    const [first, ...others] = event.inclusion
    if (first === undefined) break
    events[i] = { ...event, inclusion: [first] }
    extent = sum(extent, ...others.flatMap((proof) => [negative(extentAsJson(proof)), negative(COMMA)]))
  }
  return extent
}

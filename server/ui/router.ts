import { useLayoutEffect, useState } from 'preact/hooks'
import * as texts from './texts/index.ts'

/**
 * Routing by the fragment of the address, such as `#/evidences?owner=Ada`. The server serves one page, so the
 * dashboard also works below any path prefix. A fragment is never sent to a server.
 */
export interface Location {
  /** Decoded path segments: `['evidences', 'VIN-1']`. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

/** A malformed percent-escape in a typed address becomes an unknown page instead of an error. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** The location that a fragment names. It never fails. */
export function parseFragment(fragment: string): Location {
  const [path = '', query = ''] = fragment.replace(/^#?\/?/, '').split('?', 2)
  return { path: path.split('/').filter(Boolean).map(decodeSegment), query: new URLSearchParams(query) }
}

/** The `href` of a page. Segments are encoded, so that an external id may contain any character. */
export function hrefOf(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}

/** Goes to a page, as a click on its link would. */
export const navigate = (path: readonly string[], query?: Readonly<Record<string, string>>): void => {
  location.hash = hrefOf(path, query)
}

/** The current location. The component renders again if it changes. */
export function useLocation(): Location {
  const [current, setCurrent] = useState(() => parseFragment(location.hash))
  // A layout effect, so that no change after the first rendering is missed.
  useLayoutEffect(() => {
    const update = ({ oldURL }: HashChangeEvent): void => {
      if (mayLeave()) setCurrent(parseFragment(location.hash))
      else history.pushState(null, '', oldURL)
    }
    addEventListener('hashchange', update)
    return () => removeEventListener('hashchange', update)
  }, [])
  return current
}

/** The question of each form or dialog with what would be lost: a dialog can be open over a form. */
const unsaved = new Map<symbol, string>()

/** Asks whether what is not kept may be lost, if there is any. Default: anywhere in the page. */
export const mayLeave = (isUnsaved = unsaved.size > 0): boolean =>
  !isUnsaved || confirm([...unsaved.values()].at(-1) ?? texts.discard)

const warn = (event: Event): void => void (unsaved.size > 0 && event.preventDefault())
addEventListener('beforeunload', warn)

/** While it is true, leaving the page asks first. */
export function useUnsaved(isUnsaved: boolean, question: string = texts.discard): void {
  // A layout effect, so that a page that changes it and then leaves is not asked.
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined
    const own = Symbol('unsaved')
    unsaved.set(own, question)
    return () => void unsaved.delete(own)
  }, [isUnsaved])
}

let entries = 0

/**
 * Identifies the current entry of the browser's history. An entry keeps its id when the user comes back to it; the
 * entry that a link makes gets a new one.
 */
export function historyEntry(): string {
  const known: unknown = history.state
  if (typeof known === 'string') return known
  // An id of the same tab before it was reloaded has another time.
  const id = `${performance.timeOrigin}/${++entries}`
  history.replaceState(id, '')
  return id
}

import { isRegistryError, parseStrictJson, type Json, type StagedFile } from '../../core/index.ts'
import { HttpError } from '../contract/errors.ts'

/** A file of a slot for many, and the index that the name of its part has. */
export interface SlotFile {
  readonly file: StagedFile
  readonly index: number | undefined
}

const INDEX = /\[(\d{0,6})\]$/

/** The name of a part without its index: `images` of `images[0]`. */
export const nameOf = (part: string): string => part.replace(INDEX, '')

/** The index in the name of a part: 0 of `images[0]`. */
export function indexOf(part: string): number | undefined {
  const digits = INDEX.exec(part)?.[1] ?? ''
  return digits === '' ? undefined : Number(digits)
}

/**
 * Gives the files of a slot the titles that its texts hold, by the names of their parts: in order, or by index if all
 * files have one. An empty title, and a missing one, leave the default.
 *
 * @throws `VALIDATION_ERROR` for a title without a file: the client may have sent a file as a text
 */
export function withTitles(
  slot: string,
  files: readonly SlotFile[],
  texts: ReadonlyMap<string, string>,
): readonly StagedFile[] {
  const indexes = new Set(files.map(({ index }) => index))
  const isIndexed = indexes.size === files.length && !indexes.has(undefined)
  const places = files.map(({ index }, i) => (isIndexed && index !== undefined ? index : i))
  const entries = [...texts].flatMap(([part, text]) => titlesIn(part, text, places))
  if (entries.length > 0 && files.length === 0)
    throw invalid(`${slot} has titles, but no files: send the files as file parts with a filename`)
  const titles = new Map(entries)
  const hasTooMany = entries.length > files.length || titles.size < entries.length
  if (hasTooMany || [...titles.keys()].some((place) => !places.includes(place)))
    throw invalid(`${slot} has more titles than files`)
  return files.map(({ file }, i) => {
    const title = titles.get(places[i] ?? i) ?? ''
    return title === '' ? file : { ...file, title }
  })
}

/** The titles in a text, by their places: that of an index, those in a JSON array, or the same one for each file. */
function titlesIn(part: string, text: string, places: readonly number[]): readonly (readonly [number, string])[] {
  const index = indexOf(part)
  if (index !== undefined) return [[index, text]]
  const list = listIn(part, text)
  if (list !== undefined) return [...list.entries()]
  return places.length === 0 ? [[0, text]] : places.map((place) => [place, text])
}

/** The texts in a JSON array, `undefined` for any other text. */
function listIn(part: string, text: string): readonly string[] | undefined {
  if (!text.trimStart().startsWith('[')) return undefined
  try {
    const value = parseStrictJson(text)
    if (isTexts(value)) return value
  } catch (error) {
    if (isRegistryError(error) && error.cause instanceof SyntaxError) return undefined
  }
  throw invalid(`${part} must be a title, or a JSON array of titles that are all texts`)
}

const isTexts = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

const invalid = (message: string): HttpError => new HttpError('VALIDATION_ERROR', message)

import { isRegistryError, parseStrictJson, type Json, type StagedFile } from '../../core/index.ts'
import { HttpError } from '../contract/errors.ts'

/** A file of a slot for many, and the index that the name of its part has. */
export interface SlotFile {
  readonly file: StagedFile
  readonly index: number | undefined
}

/**
 * Gives the files of a slot the titles in a text: those in a JSON array in order, or by index if all files have one;
 * any other text is the title of each. An empty title, and a missing one, leave the default.
 *
 * @throws `VALIDATION_ERROR` for a title without a file: the client may have sent a file as a text
 */
export function withTitles(slot: string, files: readonly SlotFile[], text: string): readonly StagedFile[] {
  const titles = titlesIn(slot, text)
  if (files.length === 0 && (typeof titles === 'string' ? text : titles).length > 0)
    throw invalid(`${slot} has titles, but no files: send the files as file parts with a filename`)
  if (typeof titles === 'string') return files.map(({ file }) => titled(file, titles))
  const indexes = new Set(files.map(({ index }) => index))
  const isIndexed = indexes.size === files.length && !indexes.has(undefined)
  if (titles.length > files.length || (isIndexed && titles.some((_, i) => !indexes.has(i))))
    throw invalid(`${slot} has more titles than files`)
  return files.map(({ file, index = 0 }, i) => titled(file, titles[isIndexed ? index : i]))
}

const titled = (file: StagedFile, title = ''): StagedFile => (title === '' ? file : { ...file, title })

/** The titles in a JSON array, or a text that is the title of each file. A blank one is not given. */
function titlesIn(slot: string, text: string): readonly string[] | string {
  if (!text.trimStart().startsWith('[')) return text.trim() === '' ? '' : text
  try {
    const value = parseStrictJson(text)
    if (isTexts(value)) return value
  } catch (error) {
    if (isRegistryError(error) && error.cause instanceof SyntaxError) return text
  }
  throw invalid(`${slot} must be a title, or a JSON array of titles that are all texts`)
}

const isTexts = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

const invalid = (message: string): HttpError => new HttpError('VALIDATION_ERROR', message)

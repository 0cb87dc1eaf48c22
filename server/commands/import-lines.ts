import { assertNewEvidence, parseStrictJson, RegistryError, type NewEvidence } from '../../core/index.ts'
import { NewEvidence as LineSchema } from '../contract/evidence-requests.ts'
import { withWireNames } from '../contract/field-names.ts'
import { givenFields, isObject } from '../contract/given-fields.ts'
import { defined } from '../contract/values.ts'
import { configError } from '../settings/config-error.ts'

/** No evidence is this large: a longer line means that the file does not consist of lines of JSON. */
export const MAX_LINE_BYTES = 1024 * 1024

const LINE_NAMES: ReadonlySet<string> = new Set(Object.keys(LineSchema.properties))
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The error for a line that is too long. */
export const tooLong = (line: number): RegistryError =>
  new RegistryError('VALIDATION_ERROR', `Line ${line} has more than 1 MiB: the file must have one JSON object per line`)

/** What files that have no object in their first line seem to be, and how they are converted. */
const OTHER_FILES: readonly (readonly [start: RegExp, format: string, conversion: string])[] = [
  [/\0/, 'text in UTF-16', 'iconv -f UTF-16 -t UTF-8 FILE > FILE.ndjson'],
  [/^\[/, 'a JSON array', "jq -c '.[]' FILE > FILE.ndjson"],
  [/^\{/, 'JSON over several lines', 'jq -c . FILE > FILE.ndjson'],
  [/[,;\t]/, 'CSV', 'mv FILE FILE.csv'],
]

/**
 * Whether a line is a JSON object; false if it is empty. `parseLine` refuses an object with values that are not exact.
 *
 * @throws RegistryError `CONFIG_ERROR` for any other line. If it is the first one, the file has another format: some of
 *   its lines could be objects by chance, and would be created for ever
 */
export function isObjectLine(line: Uint8Array): boolean {
  const text = Buffer.from(line).toString().trim()
  if (text === '') return false
  try {
    if (isObject(JSON.parse(text))) return true
  } catch {
    // The file is described below.
  }
  const [, format, conversion] = OTHER_FILES.find(([start]) => start.test(text)) ?? []
  const advice =
    format === undefined ? '' : `: the file seems to be ${format}. Convert it, for example with ${conversion}`
  throw configError(`The first line is not a JSON object${advice}`)
}

/**
 * Parses one line: the JSON object that the endpoint for new evidences accepts as its body. Returns `undefined` for an
 * empty line.
 *
 * @throws RegistryError `VALIDATION_ERROR`
 */
export function parseLine(line: Uint8Array): NewEvidence | undefined {
  const text = decode(line).trim()
  if (text === '') return undefined
  const value = parseStrictJson(text)
  if (!isObject(value)) throw new RegistryError('VALIDATION_ERROR', 'A line must be a JSON object')
  const members: Readonly<Record<string, unknown>> = givenFields(value)
  const unknown = Object.keys(members).find((name) => !LINE_NAMES.has(name))
  if (unknown !== undefined)
    throw new RegistryError('VALIDATION_ERROR', `${JSON.stringify(unknown)} is not a known field`)
  const { categoryId, categoryName, subcategoryId, subcategoryName } = members
  // Each member by name: an object made of a rest (`...evidence`) is slow in all that follows.
  const { externalId, name, owner, description, summary, meta } = members
  const category = defined({ id: categoryId, name: categoryName })
  const subcategory = defined({ id: subcategoryId, name: subcategoryName })
  return checked(defined({ externalId, name, owner, description, summary, meta, category, subcategory }))
}

/** The checks are those of the core, and the names in errors those of the line. */
function checked(input: object): NewEvidence {
  try {
    assertNewEvidence(input)
    return input
  } catch (error) {
    throw withWireNames(error)
  }
}

/** Strict: a byte that is not UTF-8 would otherwise become part of what is hashed. */
function decode(line: Uint8Array): string {
  try {
    return strictUtf8.decode(line)
  } catch (cause) {
    throw new RegistryError('VALIDATION_ERROR', 'The line is not UTF-8', { cause })
  }
}

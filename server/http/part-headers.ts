import { HttpError } from '../contract/errors.ts'
import { mediaType } from '../contract/media-types.ts'
import { decodeBody } from './body-parser.ts'
import { essence } from './body-type.ts'
import { malformed } from './guarded-body.ts'

/** What the headers of a part of a form say. */
export interface PartHeaders {
  readonly name: string
  /** As the client sent it: formidable would remove paths, and replace `&#1234;`. `undefined` if there is none. */
  readonly fileName: string | undefined
  /** `type/subtype` in lower case, without parameters. */
  readonly mimeType: string
  /** Whether the part has a Content-Type that only files have. */
  readonly hasFileType: boolean
}

/**
 * Reads the headers of a part, which hold bytes as characters.
 *
 * @throws `MALFORMED_BODY`; `VALIDATION_ERROR` for the name of a file that cannot be decoded
 */
export function readPartHeaders(headers: Readonly<Record<string, string>>): PartHeaders {
  // RFC 7578 § 4.7 ended transfer encodings. Storing such a part as it is would keep bytes other than the sender's.
  if (!/^(?:7bit|8bit|binary)$/i.test(headers['content-transfer-encoding'] ?? 'binary'))
    throw malformed('A part of the form has a Content-Transfer-Encoding')
  const disposition = bytesOf(headers['content-disposition'] ?? '')
  const parameters = new Map<string, string>()
  for (const [, name = '', quoted, token = ''] of decodeBody(disposition, 'A name in the form').matchAll(PARAMETER))
    if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), quoted ?? token.trim())
  const name = parameters.get('name')
  if (name === undefined) throw malformed('A part of the form has no name')
  const fileName = fileNameOf(parameters)
  const sent = headers['content-type'] ?? ''
  const type = essence(sent)
  // Several files in one part, as RFC 7578 § 4.3 forbids it. They would be recorded as one file that is none of them.
  if (fileName === undefined && type?.startsWith('multipart/') === true)
    throw malformed('A part of the form is a form itself: send each file in a part of its own')
  return {
    name: unescape(name),
    fileName,
    mimeType: mediaType(type, fileName),
    hasFileType: sent.trim() !== '' && type !== 'text/plain' && type !== 'application/json',
  }
}

const PARAMETER = /;[ \t]*([^\s;="]+)=(?:"((?:\\"|[^"])*)"|([^;"]*))/g

/**
 * Browsers write a quote as %22 and line breaks as %0D %0A (WHATWG HTML), curl writes a quote as \". Other backslashes
 * belong to paths.
 */
const unescape = (value: string): string =>
  value
    .replaceAll('\\"', '"')
    .replace(/%(22|0D|0A)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** `filename*` comes before `filename` (RFC 8187 § 3.2). */
function fileNameOf(parameters: ReadonlyMap<string, string>): string | undefined {
  const extended = parameters.get('filename*')
  const decoded = extended === undefined ? '' : decodeExtended(extended)
  if (decoded !== '') return decoded
  const plain = parameters.get('filename')
  if (plain !== undefined) return decodeWords(unescape(plain))
  // The pieces of RFC 2231 § 3, which no form may have.
  if (parameters.has('filename*0') || parameters.has('filename*0*')) throw undecodable()
  return extended === undefined ? undefined : ''
}

/** `charset'language'value`, percent-encoded (RFC 8187 § 3.2). */
function decodeExtended(text: string): string {
  const [, charset = '', value = ''] = /^([^']*)'[^']*'(.*)$/.exec(text) ?? []
  return decodeName([inUtf8(charset, fromPercent(value))])
}

/** A text that is whole encoded words (RFC 2047), as .NET sends it. Any other text stays as it is. */
function decodeWords(text: string): string {
  if (!/^\s*(?:=\?[^?\s]+\?[bq]\?[!->@-~]*\?=\s*)+$/i.test(text)) return text
  const words = text.matchAll(/=\?([^?*]+)[^?]*\?([bq])\?([^?]*)\?=/gi)
  // A character may begin in one word and end in the next.
  return decodeName(
    Array.from(words, ([, charset = '', encoding = '', content = '']) =>
      inUtf8(charset, encoding.toLowerCase() === 'b' ? fromBase64(content) : fromQ(content)),
    ),
  )
}

/** RFC 2047 § 4.2. */
const fromQ = (content: string): Buffer =>
  fromPercent(content.replaceAll('%', '%25').replaceAll('_', ' ').replaceAll('=', '%'))

function fromPercent(text: string): Buffer {
  if (!/^(?:%[0-9a-f]{2}|[ -$&-~])*$/i.test(text)) throw undecodable()
  return bytesOf(text.replaceAll(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))))
}

function fromBase64(content: string): Buffer {
  const bytes = Buffer.from(content, 'base64')
  if (bytes.toString('base64') !== content) throw undecodable()
  return bytes
}

/** The same text in UTF-8. */
function inUtf8(charset: string, bytes: Buffer): Buffer {
  if (/^(?:utf-8|us-ascii)$/i.test(charset)) return bytes
  if (!/^iso-8859-1$/i.test(charset)) throw undecodable()
  return Buffer.from(bytes.toString('latin1'))
}

const decodeName = (parts: readonly Buffer[]): string => decodeBody(Buffer.concat(parts), 'The name of a file')

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')

const undecodable = (): HttpError =>
  new HttpError('VALIDATION_ERROR', 'The name of a file cannot be decoded: send it as filename in UTF-8')

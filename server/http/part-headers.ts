import { bodyText, essence } from './body.ts'
import { HttpError } from './errors.ts'

/** The headers of one part of multipart/form-data. */
export interface PartHeaders {
  readonly name: string
  /** As the client sent it. A part with a file name is a file, whatever its type. */
  readonly filename: string | undefined
  /** `type/subtype` in lower case, without parameters. */
  readonly mimeType: string | undefined
}

export const malformed = (why: string, cause?: unknown): HttpError =>
  new HttpError('MALFORMED_BODY', `The multipart body is broken: ${why}`, { cause })

/** Reads the bytes between a boundary and the empty line. Throws `MALFORMED_BODY`. */
export function readPartHeaders(block: Buffer): PartHeaders {
  const headers = headerFields(block.toString('latin1'))
  // RFC 7578 § 4.7 ended transfer encodings. Storing such a part as it is would keep bytes other than the sender's.
  if (!/^(?:7bit|8bit|binary)$/i.test(headers.get('content-transfer-encoding') ?? 'binary'))
    throw malformed('a part has a Content-Transfer-Encoding')
  const disposition = bodyText(Buffer.from(headers.get('content-disposition') ?? '', 'latin1'))
  const parameters = parametersOf(disposition)
  const name = parameters.get('name')
  if (!/^form-data *(?:;|$)/i.test(disposition) || name === undefined)
    throw malformed('a part has no Content-Disposition with a name')
  const filename = parameters.get('filename')
  return {
    name: unescape(name),
    filename:
      extendedFilename(parameters.get('filename*')) ?? (filename === undefined ? undefined : unescape(filename)),
    mimeType: essence(headers.get('content-type')),
  }
}

/** Header values by lower-case name. Rejects equal names, and lines that are not a header. */
function headerFields(block: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const line of block === '' ? [] : block.split('\r\n')) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) throw malformed('a part has a line that is not a header')
    if (fields.has(name.toLowerCase())) throw malformed('a part has a header twice')
    fields.set(name.toLowerCase(), value)
  }
  return fields
}

/** The parameters of a Content-Disposition by lower-case name. If a name occurs twice, the first value counts. */
function parametersOf(disposition: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const [, name = '', quoted, token = ''] of disposition.matchAll(
    /;[ \t]*([^\s;="]+)=(?:"((?:\\"|[^"])*)"|([^\s;"]*))/g,
  )) {
    const key = name.toLowerCase()
    if (!parameters.has(key)) parameters.set(key, quoted ?? token)
  }
  return parameters
}

/**
 * Browsers write a quote as %22 and line breaks as %0D %0A (WHATWG HTML), curl writes a quote as \". Other backslashes
 * belong to paths.
 */
const unescape = (value: string): string =>
  value
    .replaceAll('\\"', '"')
    .replace(/%(22|0D|0A)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** `filename*` (RFC 8187): RFC 7578 forbids it, but some clients send it. */
function extendedFilename(value = ''): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value)?.[1]
  if (encoded === undefined) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch (cause) {
    throw malformed('a part has a broken filename*', cause)
  }
}

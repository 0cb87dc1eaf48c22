/** The media types of files that people keep as evidence, by extension. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['png', 'image/png'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['avif', 'image/avif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['tif', 'image/tiff'],
  ['tiff', 'image/tiff'],
  ['svg', 'image/svg+xml'],
  ['pdf', 'application/pdf'],
  ['doc', 'application/msword'],
  ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xls', 'application/vnd.ms-excel'],
  ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['ppt', 'application/vnd.ms-powerpoint'],
  ['pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['odt', 'application/vnd.oasis.opendocument.text'],
  ['ods', 'application/vnd.oasis.opendocument.spreadsheet'],
  ['mp4', 'video/mp4'],
  ['mov', 'video/quicktime'],
  ['webm', 'video/webm'],
  ['txt', 'text/plain'],
  ['csv', 'text/csv'],
  ['md', 'text/markdown'],
])

/** The name of a file whose sender named only its media type. */
export function defaultName(type: string): string {
  const [extension] = Array.from(TYPES).find(([, each]) => each === type) ?? []
  return extension === undefined ? 'file' : `file.${extension}`
}

const UNKNOWN = 'application/octet-stream'

/**
 * The media type of a file: the one that its sender named or, if that says nothing, the one of its extension. Clients
 * that do not know a type send none, `application/octet-stream` or a wildcard.
 */
export function mediaType(named: string | undefined, fileName = ''): string {
  if (named !== undefined && named !== UNKNOWN) return named
  return TYPES.get(fileName.slice(fileName.lastIndexOf('.') + 1).toLowerCase()) ?? UNKNOWN
}

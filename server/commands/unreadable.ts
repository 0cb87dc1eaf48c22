const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist: correct the path',
  ENOTDIR: 'it does not exist: correct the path',
  EISDIR: 'it is a directory: name a file in it',
  EACCES: 'this user has no access: change its owner or mode',
  EPERM: 'this user has no access: change its owner or mode',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not text in UTF-8: name another file',
}

/** Why a file that an argument names cannot be read, and what to do. */
export function whyUnreadable(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const reason = REASONS[code]
  return reason === undefined ? error.message : `${reason} (${code})`
}

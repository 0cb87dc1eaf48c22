/** Encodings for a call to a LevelDB database with byte keys. */
export const BY_BYTES = { keyEncoding: 'view', valueEncoding: 'view' } as const

/** The code of an error of the operating system, such as `ENOENT`; `undefined` for other errors. */
export const systemErrorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

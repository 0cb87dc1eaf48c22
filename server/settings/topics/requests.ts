import { integer, setting } from '../setting.ts'

export const requests = {
  maxFileBytes: setting(integer(1, 2 ** 40), { fallback: 100 * 1024 * 1024, doc: 'Size limit of a file' }),
  maxFilesPerRequest: setting(integer(1, 1_000), {
    fallback: 20,
    doc: 'Number of files in one request, and so in one event',
  }),
  uploadIdleMs: setting(integer(1, 3_600_000), {
    fallback: 30_000,
    doc: 'A request is ended if no byte of its body has arrived for this long',
  }),
  headersTimeoutMs: setting(integer(1_000, 600_000), {
    fallback: 20_000,
    doc: 'The headers of a request must be complete after this time',
  }),
  shutdownMs: setting(integer(0, 600_000), {
    fallback: 15_000,
    doc: 'Time for running requests to finish after SIGTERM',
  }),
  rateLimitPerMinute: setting(integer(0, 10_000_000), {
    fallback: 0,
    doc: 'Requests per minute of one source system, or of the operator. 0 means no limit',
  }),
} as const

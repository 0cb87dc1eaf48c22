/** A typed client of the REST service, for Node and browsers. README.md shows how to use it. */
export { createClient, type Client } from './client.ts'
export { EvidenceRegistryError, type LocalErrorCode } from './error.ts'
export type {
  ByteStream,
  ClientOptions,
  NamedUpload,
  RequestOptions,
  RetryOptions,
  Upload,
  UploadProgress,
} from './options.ts'
export type { EventsRequest, EvidenceFilter, HistoryRequest } from './paging.ts'
export type * from './types.ts'

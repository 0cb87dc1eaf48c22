import { hash } from 'node:crypto'
import type { FileInfo } from '../../core/index.ts'
import type { BlobRange } from '../../adapters/kit/index.ts'

/** What the handler of an endpoint returns. Only `http/respond.ts` knows how it is sent. */
export type Reply =
  | JsonReply
  | ({ readonly kind: 'bytes'; readonly type: string; readonly data: Uint8Array | string } & BytesOptions)
  | ({ readonly kind: 'file' } & FileReply)
  | ({ readonly kind: 'pages'; readonly parts: AsyncGenerator<string, void, undefined> } & PagesOptions)

export interface JsonReply extends JsonOptions {
  readonly kind: 'json'
  readonly text: string
  /** The text as `send` writes it, if it is known. */
  readonly encoded?: Uint8Array | string
}

/** What a handler may say about a JSON response besides its body. */
interface JsonOptions {
  /** Default: that of the endpoint. */
  readonly status?: number | undefined
  /** The path of what was created. */
  readonly location?: string | undefined
  /** `Cache-Control`. Default: that of the endpoint. */
  readonly cache?: string | undefined
  /** The client may have the text already: 304 then. */
  readonly etag?: string | undefined
}

/** What a handler may say about bytes. */
interface BytesOptions {
  /** `Cache-Control`. Default: that of the endpoint. */
  readonly cache?: string | undefined
  /** Sends the bytes as a download with this name. */
  readonly fileName?: string
}

/** What a handler may say about a long text. */
interface PagesOptions extends Pick<BytesOptions, 'fileName'> {
  /** Default: JSON. */
  readonly type?: string
}

/** The content of a file, whole or one range of it. */
interface FileReply {
  readonly file: FileInfo
  /** Opens the content. It is not called if the client has it already. */
  readonly read: (range?: BlobRange) => Promise<AsyncIterable<Uint8Array>>
  /** Overrides the stored media type. */
  readonly mimeType: string | undefined
}

/** `value`: an object, or its JSON text. Without spreads, which take longer than the rest of the reply. */
export const json = (value: object | string, { status, location, cache, etag }: JsonOptions = {}): JsonReply => ({
  kind: 'json',
  text: typeof value === 'string' ? value : JSON.stringify(value),
  status,
  location,
  cache,
  etag,
})

/** What was created, if its path is the path of the request and its id. */
export const created = (value: { readonly id: string }, path: string): Reply =>
  json(value, { location: `${path}/${value.id}` })

/** Bytes or a text of any media type, sent as they are. */
export const bytes = (type: string, data: Uint8Array | string, options: BytesOptions = {}): Reply => ({
  kind: 'bytes',
  type,
  data,
  ...options,
})

/** The content of a file, as a download with its own ETag. */
export const file = (reply: FileReply): Reply => ({ kind: 'file', ...reply })

/** A text that is too long for the memory. A part is made when the client has read the one before it. */
export const pages = (parts: AsyncGenerator<string, void, undefined>, options: PagesOptions = {}): Reply => ({
  kind: 'pages',
  parts,
  ...options,
})

/**
 * A JSON text with an ETag of it.
 *
 * @param prefix - what the ETag begins with
 */
export const tagged = (text: string, prefix: string): JsonReply =>
  json(text, { etag: `"${prefix}${hash('sha256', text, 'hex').slice(0, 16)}"` })

const MAX_TEXT_LENGTH = 4_096

/** A long text as bytes: Node reserves three bytes for each character of a text, and writes a short one faster. */
export const encodeLong = (data: Uint8Array | string): Uint8Array | string =>
  typeof data === 'string' && data.length > MAX_TEXT_LENGTH ? Buffer.from(data) : data

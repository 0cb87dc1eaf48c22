import type { Static, TObject, TSchema } from '#typebox'
import type {
  DeleteFileOptions,
  PermissionLevel,
  Registry,
  Scope,
  StagedFile,
  UpdateOptions,
} from '../../core/index.ts'
import type { ErrorShape, ResponseCode } from './errors.ts'
import type { CompanyHealth } from './overview.ts'
import type { ReplyCache } from './reply-cache.ts'
import type { Reply } from './reply.ts'

/**
 * What an endpoint is. The routes (http/serve.ts) and the OpenAPI document (openapi.ts) are made of the same
 * descriptions, so they cannot differ.
 */

/**
 * Who may use it: `public` anyone; a permission level the keys that have it; `sourceSystem` any key but the operator's;
 * `operator` the operator's key; `fileToken` a key with level R, or a token in the query that opens the file; `share`
 * anyone with the secret of a share in `X-Share-Secret`; `rationed` anyone, within narrow limits, because it says
 * something about ids that can be guessed.
 */
export type Access = 'public' | 'share' | 'rationed' | 'sourceSystem' | 'operator' | 'fileToken' | PermissionLevel

/** Whether no key is looked up: it is for anyone. */
export const isKeyless = (access: Access): access is 'public' | 'share' | 'rationed' =>
  access === 'public' || access === 'share' || access === 'rationed'

/** Where a request may carry files: the names of their parts, and how many. */
export interface FileSlot {
  /** The field's own name. As a text field it may hold titles. */
  readonly name: string
  /** Other part names that mean the same. */
  readonly aliases?: readonly string[]
  /** Any number of files, and titles for them. Otherwise one file. */
  readonly many?: true
  /** In JSON it may be `{name?, mimeType, data}` with base64 data. */
  readonly inline?: true
}

/** What of a body can be sent as multipart/form-data, besides its fields. */
export interface FormShape {
  readonly slots: readonly FileSlot[]
  /** An example of the text fields, for the document. Default: that of the JSON body. */
  readonly example?: object
}

/** What an endpoint accepts in its body. */
export interface BodyShape<B extends TSchema> {
  /** Schema of the fields, without files. */
  readonly schema: B
  /** Present if multipart/form-data is accepted besides JSON. */
  readonly form?: FormShape
  /** Limit of the JSON, or of the texts of a form. Default: 1 MiB, or 8 MiB if an image may be inline. */
  readonly maxTextBytes?: number
  /** `null` and empty texts are wrong values. Otherwise they mean that a field is not given. */
  readonly rejectsEmpty?: true
  /** If `schema` is a union: the member that these fields must fit. */
  choose?(fields: object): TSchema
  /** An example for the document. */
  readonly example: unknown
}

/** What a successful response contains: JSON with a schema, or another media type. */
export type ResponseShape =
  | {
      readonly status?: 200 | 201 | 202
      readonly schema: TSchema
      readonly example?: unknown
      /** Other media types that the same request can select. */
      readonly media?: Readonly<Record<string, TSchema>>
      readonly others?: Readonly<Record<number, string>>
    }
  | {
      readonly status?: 200
      readonly media: string
      readonly description: string
      /** If it is JSON of a special type. */
      readonly content?: TSchema
      readonly others?: Readonly<Record<number, string>>
    }

/** An authorized request whose field names are known. The core validates the values. */
export interface EndpointRequest<Q extends TSchema = TSchema, B extends TSchema = TSchema> {
  readonly registry: Registry
  /** A path parameter, decoded. */
  readonly param: (name: string) => string
  readonly query: Static<Q>
  readonly scope: Scope
  readonly input: Static<B>
  /** The files that were sent for a slot. */
  readonly files: (slot: string) => readonly StagedFile[]
  readonly options: UpdateOptions & DeleteFileOptions
  /** The secret of a share, empty if there is none. */
  readonly shareSecret: string
  /** The address of the dashboard: the public one, or that of the request if it is not known. */
  readonly dashboardUrl: () => string
  /** The path of the request, as the client sees it: a proxy may serve the API below a path of its own. */
  readonly path: string
  /** The target of the request: its path and its query, as they were sent. */
  readonly target: string
  readonly replyCache: ReplyCache
  /** Pages of lists, apart from `replyCache`: each is long, and any change makes all of them out of date. */
  readonly pageCache: ReplyCache
  /**
   * Waits for something without a place among the requests that run. The signal ends the wait: after this time, if the
   * client disconnects, or if the server stops.
   */
  readonly longPoll: <T>(maxMs: number, wait: (signal: AbortSignal) => Promise<T>) => Promise<T>
  /** What anyone with a key may know of the server. */
  readonly health: () => Promise<CompanyHealth>
}

/**
 * An endpoint: its route, who may use it, what it accepts and returns, and its handler. Everything that the route, the
 * OpenAPI document and the client do follows from it.
 */
export interface Endpoint<Q extends TObject = TObject, B extends TSchema = TSchema> {
  /** `operationId` in the document. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base path, parameters as `{NAME}`. `{NAME*}` may contain slashes. */
  readonly path: string
  readonly access: Access
  readonly summary: string
  readonly description?: string
  readonly query?: Q
  readonly body?: BodyShape<B>
  /** Whether it accepts `Idempotency-Key`. */
  readonly idempotent?: true
  /**
   * What `If-Match` may name: the version of an evidence or a category, or also the content of a file. Set for every
   * write on something that a GET gives an ETag for. Other writes reject the header.
   */
  readonly conditional?: 'version' | 'version or content'
  /** The queue of a GET that reads more than a few records, or of a long JSON body. Default: that of its method. */
  readonly queue?: 'lists' | 'downloads'
  /** Queries for which `queue` holds. Default: all. It is awaited before the request has a turn. */
  readonly isHeavy?: (
    query: Static<Q>,
    request: Pick<EndpointRequest, 'registry' | 'scope'>,
  ) => boolean | Promise<boolean>
  /** Not counted for the rate limit of addresses. */
  readonly isUnmetered?: true
  readonly response: ResponseShape
  /** Headers of every success, besides those that follow from the rest. */
  readonly headers?: readonly ('Content-Disposition' | 'Accept-Ranges')[]
  /** Error codes besides those that follow from the rest. */
  readonly errors?: readonly ResponseCode[]
  handle(request: EndpointRequest<Q, B>): Promise<Reply> | Reply
}

/** Endpoints that the document shows together. */
export interface EndpointGroup {
  readonly tag: string
  readonly description: string
  /** The body of its errors. Default `operation`. */
  readonly errorShape?: ErrorShape
  readonly endpoints: readonly Endpoint[]
}

/** Infers the types of a handler's query and body. */
export const endpoint = <Q extends TObject, B extends TSchema>(description: Endpoint<Q, B>): Endpoint => description

/** The names of a path's parameters, in order. */
export const parametersOf = (path: string): string[] =>
  [...path.matchAll(/\{([A-Za-z_]+)\*?\}/g)].map(([, name = '']) => name)

/** A path as the document writes it: OpenAPI cannot express `{N*}`. */
export const documentPath = (path: string): string => path.replaceAll('*}', '}')

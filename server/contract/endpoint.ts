import type { Context } from 'koa'
import type { Static, TObject, TSchema } from 'typebox'
import type { ErrorCode } from '../../core/errors.ts'
import type { PermissionLevel } from '../../core/registry/permissions.ts'
import type { Registry, Scope, StagedFile, UpdateOptions } from '../../core/api/registry.ts'
import type { ErrorShape } from '../http/errors.ts'
import type { FormShape } from '../http/form.ts'

/**
 * What an endpoint is. The router is mounted from these descriptions (mount.ts), and the OpenAPI document is made of the
 * same ones (openapi.ts), so neither can say what the other does not do.
 */

/**
 * Who may ask: `public` anyone; a permission level the keys that have it; `sourceSystem` any key but the operator's;
 * `fileToken` an R key or a token in the query that opens the file.
 */
export type Access = 'public' | 'sourceSystem' | 'fileToken' | PermissionLevel

/** What an endpoint takes in its body. */
export interface BodyShape<B extends TSchema> {
  /** Of the fields, files apart. */
  readonly schema: B
  /** Takes multipart/form-data beside JSON. */
  readonly form?: FormShape
  /** The schema that these fields must satisfy, where `schema` is a choice between several. */
  choose?(fields: object): TSchema
  /** In the document. */
  readonly example: unknown
}

/** What a successful answer holds: JSON of a schema, or other media. */
export type AnswerShape =
  | {
      readonly status?: 200 | 201
      readonly schema: TSchema
      readonly example?: unknown
      readonly others?: Readonly<Record<number, string>>
    }
  | {
      readonly status?: 200
      readonly media: string
      readonly description: string
      readonly others?: Readonly<Record<number, string>>
    }

/** A request that passed: authenticated, allowed, and of the described shape. */
export interface EndpointRequest<Q extends TSchema = TSchema, B extends TSchema = TSchema> {
  readonly registry: Registry
  readonly ctx: Context
  /** Path parameters, decoded. */
  readonly param: (name: string) => string
  readonly query: Static<Q>
  /** Of a public endpoint: without a company and never used. */
  readonly scope: Scope
  readonly input: Static<B>
  /** The files sent for a slot. */
  readonly files: (slot: string) => readonly StagedFile[]
  readonly options: UpdateOptions
}

export interface Endpoint<Q extends TObject = TObject, B extends TSchema = TSchema> {
  /** `operationId`; also names the route in metrics and idempotency. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base path, parameters as `{NAME}`; `{NAME*}` takes slashes. */
  readonly path: string
  readonly access: Access
  readonly summary: string
  readonly description?: string
  readonly query?: Q
  readonly body?: BodyShape<B>
  /** Takes `Idempotency-Key`. */
  readonly idempotent?: true
  /** Takes `If-Match`. */
  readonly conditional?: true
  readonly answer: AnswerShape
  /** What can go wrong beyond what follows from the rest. */
  readonly errors?: readonly ErrorCode[]
  /** Answers the JSON body; `undefined` where it answered by `ctx` itself. */
  handle(asked: EndpointRequest<Q, B>): Promise<unknown>
}

/** Endpoints that the document shows together. */
export interface EndpointGroup {
  readonly tag: string
  readonly description: string
  /** The body of its errors. Default `operation`. */
  readonly errorShape?: ErrorShape
  readonly endpoints: readonly Endpoint[]
}

/** Gives the handler the types of its own query and body. */
export const endpoint = <Q extends TObject, B extends TSchema>(description: Endpoint<Q, B>): Endpoint => description

/** The names of a path's parameters, in order. */
export const parametersOf = (path: string): string[] =>
  [...path.matchAll(/\{([A-Za-z_]+)\*?\}/g)].map(([, name]) => name as string)

/** A path as the document writes it: `{N*}` has no spelling of its own there. */
export const documentPath = (path: string): string => path.replaceAll('*}', '}')

import type { Context } from 'koa'
import type { TSchema } from 'typebox'
import type { Registry, Scope, StagedFile } from '../../core/api/registry.ts'
import { validate } from '../../core/registry/validation.ts'
import type { BodyShape } from '../contract/endpoint.ts'
import { bodyType } from './body.ts'
import { readJsonForm, readMultipart, type Form, type Stage, type UploadLimits } from './form.ts'
import { readJsonObject } from './json-body.ts'

/** The fields and files of a request. */
export interface RequestBody extends Form {
  /** Destroys the staged files that no write has used. */
  readonly discardFiles: () => Promise<void>
}

const EMPTY: RequestBody = { fields: {}, files: new Map(), discardFiles: async () => undefined }

/**
 * Reads and validates a request's body. Its files are staged, which means stored, but not yet used by a record. If this fails, it has
 * discarded them.
 */
export async function readBody(
  shape: BodyShape<TSchema> | undefined,
  ctx: Context,
  { registry, limits, scope }: { readonly registry: Registry; readonly limits: UploadLimits; readonly scope: Scope },
): Promise<RequestBody> {
  if (shape === undefined) return EMPTY
  const staged: StagedFile[] = []
  const discardFiles = (): Promise<void> => registry.files.discard(staged)
  const stage: Stage = async (file, maxBytes) => {
    const stagedFile = await registry.files.stage(scope, file, { maxBytes })
    staged.push(stagedFile)
    return stagedFile
  }
  try {
    const form = await readForm(shape, ctx, limits, stage)
    validate(shape.choose?.(form.fields) ?? shape.schema, form.fields)
    return { ...form, discardFiles }
  } catch (error) {
    await discardFiles()
    throw error
  }
}

async function readForm({ form }: BodyShape<TSchema>, ctx: Context, limits: UploadLimits, stage: Stage): Promise<Form> {
  const type = bodyType(ctx.req, form ? ['multipart/form-data', 'application/json'] : ['application/json'])
  if (form === undefined) return { fields: await readJsonObject(ctx, limits.idleMs), files: new Map() }
  return type === 'multipart/form-data'
    ? readMultipart(ctx, form, limits, stage)
    : readJsonForm(ctx, form, limits, stage)
}

import type { Context } from 'koa'
import type { TSchema } from '#typebox'
import type { Registry, Scope, StagedFile } from '../../core/index.ts'
import type { BodyShape, FormShape } from '../contract/endpoint.ts'
import { turnOf } from './admit.ts'
import { bodyType } from './body.ts'
import { givenFields } from './given-fields.ts'
import { readJsonForm, readMultipart, type Form, type FormOptions, type Stage, type UploadLimits } from './form.ts'
import { readJsonObject } from './json-body.ts'
import { assertKnownFields } from './unknown-fields.ts'

/** The fields and files of a request. */
export interface RequestBody extends Form {
  /** Destroys the staged files that no write has used. */
  readonly discardFiles: () => Promise<void>
}

const EMPTY: RequestBody = { fields: {}, files: new Map(), discardFiles: async () => undefined }

/**
 * Reads a request's body and checks the names of its fields. Its files are staged: stored, but not yet used by a
 * record. If reading fails, they were discarded.
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
    const { files, ...form } = await readForm(shape, ctx, { limits, stage })
    const fields = shape.rejectsEmpty === true ? form.fields : givenFields(form.fields)
    assertKnownFields(shape.choose?.(fields) ?? shape.schema, fields)
    return { fields, files, discardFiles }
  } catch (error) {
    await discardFiles()
    throw error
  }
}

/** Reads JSON, or a form if the endpoint accepts one. */
async function readForm(
  { form: shape, maxTextBytes = defaultTextBytes(shape) }: BodyShape<TSchema>,
  ctx: Context,
  { limits, stage }: Pick<FormOptions, 'limits' | 'stage'>,
): Promise<Form> {
  const type = bodyType(ctx.req, shape ? ['multipart/form-data', 'application/json'] : ['application/json'])
  if (shape === undefined) return { fields: await readJsonObject(ctx, { ...limits, maxTextBytes }), files: new Map() }
  const holdBytes = (count: number): void => turnOf(ctx)?.holdBytes(count)
  return type === 'multipart/form-data'
    ? readMultipart(ctx.req, { shape, limits, stage, maxTextBytes, holdBytes })
    : readJsonForm(ctx, { shape, limits, stage, maxTextBytes })
}

const MIB = 1024 * 1024
/** An inline image has at most 5 MiB, which are 6.7 MiB in base64. */
const defaultTextBytes = (form: FormShape | undefined): number =>
  form?.slots.some(({ inline }) => inline) === true ? 8 * MIB : MIB

import type { Context } from 'koa'
import type { TSchema } from '#typebox'
import type { StagedFile } from '../../core/index.ts'
import type { BodyShape, FormShape } from '../contract/endpoint.ts'
import type { Admission } from './admission.ts'
import type { Authorization } from './authorization.ts'
import { readJsonText } from './body-parser.ts'
import { bodyType } from './body-type.ts'
import type { BodyLimits } from './guarded-body.ts'
import type { EndpointServices } from './endpoint-services.ts'
import { parseFields, typeOf, type ParsedBody } from './fields.ts'
import { readMultipart, type Form, type Stage } from './form.ts'
import type { Reservation } from './memory-budget.ts'

/** What the request of a body has. */
interface BodyContext {
  readonly authorization: Authorization
  readonly admission: Admission
  readonly services: Pick<EndpointServices, 'registry' | 'bodies' | 'uploads'>
}

/** What a request counts as in memory besides the bytes of its body, so that slow senders cannot be any number. */
const REQUEST_BYTES = 32 * 1024
const MIB = 1024 * 1024

/**
 * The body of one request: its memory, and its files while no record uses them. They are staged: stored, but not yet
 * used. The sender controls every byte of it.
 */
export class RequestBody {
  readonly #ctx: Context
  readonly #shape: BodyShape<TSchema>
  readonly #context: BodyContext
  readonly #memory: Reservation
  #staged: StagedFile[] = []
  #received: string | Form = ''

  constructor(ctx: Context, shape: BodyShape<TSchema>, context: BodyContext) {
    this.#ctx = ctx
    this.#shape = shape
    this.#context = context
    this.#memory = context.services.bodies.reserve(context.authorization.sender)
  }

  /**
   * Waits until all of it has arrived.
   *
   * @throws `MALFORMED_BODY`, `UNSUPPORTED_MEDIA_TYPE`, `PAYLOAD_TOO_LARGE`, `VALIDATION_ERROR`, `OVERLOADED`
   */
  async receive(): Promise<void> {
    this.#memory.take(REQUEST_BYTES)
    const { schema, form, maxTextBytes = defaultTextBytes(form) } = this.#shape
    const { pace, maxFileBytes, maxFilesPerRequest } = this.#context.services.uploads
    const type = bodyType(this.#ctx.req, form ? ['multipart/form-data', 'application/json'] : ['application/json'])
    const limits = (what: string): BodyLimits => ({
      pace,
      memory: this.#memory,
      maxBytes: maxTextBytes,
      tooLarge: `${what} must have at most ${maxTextBytes} bytes`,
    })
    if (form === undefined || type === 'application/json') {
      this.#received = await readJsonText(this.#ctx, limits('A JSON body'))
      return
    }
    this.#received = await readMultipart(this.#ctx, {
      slots: form.slots,
      limits: limits('The texts of a form'),
      stage: this.#stage,
      maxFileBytes,
      maxFilesPerRequest,
      isText: (name) => ['object', 'array'].includes(typeOf(schema, name) ?? ''),
    })
  }

  /**
   * The fields that were received, and the files. Call it when the request is admitted.
   *
   * @throws `MALFORMED_BODY`, `PAYLOAD_TOO_LARGE`, `VALIDATION_ERROR`
   */
  parse(): Promise<ParsedBody> {
    return parseFields(this.#received, this.#shape, this.#stage)
  }

  /** Stores a file. A form is admitted here, with its first file. Until the body has arrived, it can be ended. */
  readonly #stage: Stage = async (file, maxBytes) => {
    const { authorization, admission, services } = this.#context
    await admission.admit()
    admission.awaitClient(this.#memory)
    await authorization.renew()
    const staged = await services.registry.files.stage(authorization.scope, file, { maxBytes })
    this.#staged.push(staged)
    return staged
  }

  /** Says that records use the files. */
  keepFiles(): void {
    this.#staged = []
  }

  /** Gives the memory back, and destroys the files that no record uses. */
  async release(): Promise<void> {
    this.#memory.release()
    const { authorization, services } = this.#context
    if (this.#staged.length > 0) await services.registry.files.discard(this.#staged, authorization.scope)
  }
}

const defaultTextBytes = (form: FormShape | undefined): number =>
  form?.slots.some(({ inline }) => inline) === true ? 8 * MIB : MIB

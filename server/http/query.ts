import type { Context } from 'koa'
import Type, { type Static, type TObject } from '#typebox'
import { isRegistryError } from '../../core/index.ts'
import { validate } from '../../core/schemas/index.ts'
import { isKeyless, type Endpoint } from '../contract/endpoint.ts'
import { HttpError } from '../contract/errors.ts'
import { idInput } from '../contract/values.ts'

/** The query as it was sent. Throws `VALIDATION_ERROR` for escapes that are not UTF-8. */
export function rawQuery({ querystring }: Context): URLSearchParams {
  try {
    // `URLSearchParams` would replace them.
    decodeURIComponent(querystring)
  } catch (cause) {
    throw new HttpError('VALIDATION_ERROR', 'The query contains a broken percent-escape', { cause })
  }
  return new URLSearchParams(querystring)
}

const NO_QUERY = Type.Object({}, { additionalProperties: false })
const NOTHING_SENT = {}

/**
 * The query of a request, its texts converted to the types of the endpoint's schema. A public endpoint ignores unknown
 * parameters.
 *
 * @throws `VALIDATION_ERROR` for a parameter that is unknown, wrong or sent twice
 */
export function readQuery(ctx: Context, { query: schema = NO_QUERY, access }: Endpoint): Static<TObject> {
  const known: Readonly<Record<string, { type?: string }>> = schema.properties
  if (schema === NO_QUERY && ctx.querystring === '') return NOTHING_SENT
  const query: Record<string, unknown> = {}
  const sent = rawQuery(ctx)
  for (const name of new Set(sent.keys())) {
    const property = Object.hasOwn(known, name) ? known[name] : undefined
    if (property === undefined && isKeyless(access)) continue
    if (property === undefined)
      throw new HttpError('VALIDATION_ERROR', `${name.slice(0, 64)} is not a known query parameter`)
    const [value = '', ...others] = sent.getAll(name)
    if (others.length > 0) throw new HttpError('VALIDATION_ERROR', `The query parameter ${name} was sent twice`)
    // An empty value means that the parameter is not given.
    if (value !== '') query[name] = coerce(idInput(name, value), property.type)
  }
  try {
    return validate(schema, query)
  } catch (error) {
    if (!isRegistryError(error)) throw error
    // Every value of a query is a string.
    throw new HttpError('VALIDATION_ERROR', error.message.replace(/, not a string$/, ''), { cause: error })
  }
}

/** A text that does not look like the type stays as it is, and is rejected. */
function coerce(text: string, type: string | undefined): unknown {
  // Every limit is a safe integer, so a larger number stays above it.
  if (type === 'integer' && /^\d+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  if (type === 'boolean' && (text === '1' || text === 'true')) return true
  if (type === 'boolean' && (text === '0' || text === 'false')) return false
  return text
}

import type { Context } from 'koa'
import type { Static, TSchema } from 'typebox'
import { RegistryError } from '../../core/errors.ts'
import { validate } from '../../core/registry/validation.ts'

/** The query as it was sent: every value of each name, decoded. Throws `VALIDATION_ERROR` for escapes that are no UTF-8. */
export function rawQuery(ctx: Context): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>()
  for (const pair of ctx.querystring.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decode(at === -1 ? pair : pair.slice(0, at))
    const value = at === -1 ? '' : decode(pair.slice(at + 1))
    values.set(name, [...(values.get(name) ?? []), value])
  }
  return values
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new RegistryError('VALIDATION_ERROR', 'The query holds a broken percent-escape', { cause })
  }
}

/**
 * The query as its schema's type. A parameter that the schema does not know is ignored where `lenient`, else refused; one
 * that stands twice is refused. Throws `VALIDATION_ERROR`.
 */
export function readQuery<Q extends TSchema>(ctx: Context, schema: Q, lenient: boolean): Static<Q> {
  const known = (schema as { properties?: Record<string, { type?: string }> }).properties ?? {}
  const query: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const [name, values] of rawQuery(ctx)) {
    const property = Object.hasOwn(known, name) ? known[name] : undefined
    if (property === undefined && lenient) continue
    if (property === undefined)
      throw new RegistryError('VALIDATION_ERROR', `${name.slice(0, 64)} is not a known query parameter`)
    if (values.length > 1) throw new RegistryError('VALIDATION_ERROR', `The query parameter ${name} was sent twice`)
    query[name] = coerce(values[0] as string, property.type)
  }
  return validate(schema, query)
}

/** What does not look like the type stays a text, for the schema to refuse. */
function coerce(text: string, type: string | undefined): unknown {
  if (type === 'integer' && /^\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === '1' || text === 'true')) return true
  if (type === 'boolean' && (text === '0' || text === 'false')) return false
  return text
}

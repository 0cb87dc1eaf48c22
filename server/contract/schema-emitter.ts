import * as proofs from '../../core/schemas/index.ts'
import * as audit from './audit.ts'
import * as categories from './categories.ts'
import * as companies from './companies.ts'
import { FIELD_TEXTS } from './field-texts.ts'
import * as erasures from './erasures.ts'
import * as evidenceLists from './evidence-list.ts'
import * as evidenceRequests from './evidence-requests.ts'
import * as evidenceResponses from './evidence-responses.ts'
import * as files from './files.ts'
import * as log from './log.ts'
import * as operations from './operations.ts'
import * as overviews from './overview.ts'
import * as sourceSystems from './source-systems.ts'
import * as values from './values.ts'
import * as verification from './verification.ts'

/** A part of the document. */
export type JsonObject = Record<string, unknown>

/** The modules whose exported schemas become components. */
const MODULES = [
  values,
  files,
  categories,
  evidenceRequests,
  evidenceResponses,
  evidenceLists,
  erasures,
  overviews,
  sourceSystems,
  audit,
  companies,
  log,
  verification,
  operations,
  proofs,
]

/**
 * Writes a schema that has a name in the code as a reference to a component of that name, and any other schema in
 * place.
 */
export class SchemaEmitter {
  readonly #names = new Map<unknown, string>()
  readonly #used = new Map<string, unknown>()

  constructor() {
    for (const module of MODULES)
      for (const [name, value] of Object.entries<unknown>(module))
        if (typeof value === 'object' && !this.#names.has(value)) this.#names.set(value, name)
    for (const { schema, name } of verification.proofVariants) this.#names.set(schema, name)
  }

  emit(schema: object): JsonObject {
    const name = this.#names.get(schema)
    if (name === undefined) return this.#members(schema)
    if (!this.#used.has(name)) {
      this.#used.set(name, undefined)
      this.#used.set(name, this.#members(schema))
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  components(): JsonObject {
    return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** The properties of an object. What their schemas do not describe gets the text of the field. */
  properties(schemas: object): JsonObject {
    return Object.fromEntries(
      Object.entries(schemas).map(([name, schema]: [string, object]) => {
        const description = FIELD_TEXTS[name]
        const emitted = this.emit(schema)
        return [name, description === undefined || 'description' in emitted ? emitted : { ...emitted, description }]
      }),
    )
  }

  /** A member of a schema: schemas, or a plain value. */
  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#value(item))
    return typeof value === 'object' && value !== null ? this.emit(value) : value
  }

  #members(schema: object): JsonObject {
    const out: JsonObject = {}
    for (const [key, value] of Object.entries(schema)) {
      if (key === '$id' || value === proofs.WELL_FORMED) continue
      if (key === 'properties') out[key] = this.properties(value)
      // Says the same. Some generators of clients make `any` of a schema that has `not` itself.
      else if (key === 'not') Object.assign(out, { if: { not: this.#value(value) }, else: { not: {} } })
      else if (key === 'patternProperties') out['additionalProperties'] = this.#value(Object.values(value)[0])
      // A literal belongs to the instance, not to the schema.
      else out[key] = key === 'enum' || key === 'const' || key === 'required' ? value : this.#value(value)
    }
    const { enum: literals } = out
    if (Array.isArray(literals) && out['type'] === undefined)
      out['type'] = typeof literals[0] === 'number' ? 'integer' : 'string'
    return out
  }
}

import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/** The parts of the OpenAPI document that the check reads. */
interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly operationId?: string
  readonly responses?: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
}

interface CheckedResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

/** Checks responses against the OpenAPI document, as a client does that knows only the document. */
export class DocumentCheck {
  readonly #operations = new Map<string, { readonly pointer: string; readonly operation: Operation }>()
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  readonly #validators = new Map<string, ValidateFunction>()

  constructor(document: object) {
    this.#ajv.addSchema(document, 'document')
    for (const [path, item] of Object.entries((document as OpenApiDocument).paths))
      for (const [method, operation] of Object.entries(item))
        if (operation.operationId !== undefined)
          this.#operations.set(operation.operationId, { pointer: pointerOf('paths', path, method), operation })
  }

  /** Fails unless the document has the status of a response, its media type, and a schema that its body fits. */
  check(operationId: string, { status, headers, text, body }: CheckedResponse): void {
    const { pointer, operation } = this.#operations.get(operationId) ?? {}
    const documented = operation?.responses?.[status]
    assert.ok(documented && pointer, `the document has no response ${status} of ${operationId}: ${text.slice(0, 200)}`)
    const { content } = documented
    if (content === undefined || text === '') return
    const mediaType = headers.get('content-type') ?? ''
    const documentedType = Object.keys(content).find((type) => isOfType(mediaType, type))
    assert.ok(documentedType, `the document has no ${mediaType} for ${status} of ${operationId}`)
    if (body !== undefined)
      this.#checkBody(`${pointer}${pointerOf('responses', String(status), 'content', documentedType)}`, body)
  }

  #checkBody(pointer: string, body: unknown): void {
    const validator = this.#validators.get(pointer) ?? this.#ajv.compile({ $ref: `document#${pointer}/schema` })
    this.#validators.set(pointer, validator)
    assert.ok(
      validator(body),
      `${pointer}: ${this.#ajv.errorsText(validator.errors)}: ${JSON.stringify(body).slice(0, 500)}`,
    )
  }
}

const isOfType = (actual: string, documented: string): boolean =>
  documented === '*/*' || actual.split(';')[0] === documented.split(';')[0]

/** A JSON pointer in the fragment of a URI. */
const pointerOf = (...names: readonly string[]): string =>
  names.map((name) => `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')

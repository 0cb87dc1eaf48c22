import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/** The parts of the OpenAPI document that the check reads. */
interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly headers: Readonly<Record<string, DocumentedHeader>> }
}

interface Operation {
  readonly operationId?: string
  readonly responses?: Readonly<Record<string, DocumentedResponse>>
}

interface DocumentedResponse {
  readonly content?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, DocumentedHeader | { readonly $ref: string }>>
}

interface DocumentedHeader {
  readonly required?: boolean
  readonly schema: { readonly pattern?: string }
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

  readonly #headers: OpenApiDocument['components']['headers']

  constructor(document: object) {
    this.#ajv.addSchema(document, 'document')
    const { paths, components } = document as OpenApiDocument
    this.#headers = components.headers
    for (const [path, item] of Object.entries(paths))
      for (const [method, operation] of Object.entries(item))
        if (operation.operationId !== undefined)
          this.#operations.set(operation.operationId, { pointer: pointerOf('paths', path, method), operation })
  }

  /**
   * Fails unless the document has the status of a response, its headers, its media type, and a schema that its body
   * fits. Of HTTP and security headers that any response can have, the document says nothing.
   */
  check(operationId: string, { status, headers, text, body }: CheckedResponse): void {
    const { pointer, operation } = this.#operations.get(operationId) ?? {}
    const documented = operation?.responses?.[status]
    assert.ok(documented && pointer, `the document has no response ${status} of ${operationId}: ${text.slice(0, 200)}`)
    this.#checkHeaders(`${status} of ${operationId}`, documented, headers)
    const { content } = documented
    if (text === '') return
    assert.ok(content, `the document says that ${status} of ${operationId} has no body: ${text.slice(0, 200)}`)
    const mediaType = headers.get('content-type') ?? ''
    const documentedType = Object.keys(content).find((type) => isOfType(mediaType, type))
    assert.ok(documentedType, `the document has no ${mediaType} for ${status} of ${operationId}`)
    if (body !== undefined && documentedType !== ANY_FILE)
      this.#checkBody(`${pointer}${pointerOf('responses', String(status), 'content', documentedType)}`, body)
  }

  #checkHeaders(response: string, { headers: documented = {} }: DocumentedResponse, headers: Headers): void {
    for (const [name, reference] of Object.entries(documented)) {
      const header = '$ref' in reference ? this.#headers[reference.$ref.split('/').at(-1) ?? ''] : reference
      assert.ok(header, `the header ${name} of ${response} is not described`)
      const value = headers.get(name)
      assert.ok(value !== null || header.required !== true, `${response} has no ${name}`)
      if (value !== null) assert.match(value, new RegExp(header.schema.pattern ?? '', 'u'), `${name} of ${response}`)
    }
    const names = new Set(Object.keys(documented).map((name) => name.toLowerCase()))
    for (const name of headers.keys())
      assert.ok(names.has(name) || ANY_RESPONSE.test(name), `the document has no ${name} in ${response}`)
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

/** Of HTTP itself, of CORS, and for the security of browsers. */
const ANY_RESPONSE = new RegExp(
  '^(?:connection|content-(?:length|type|security-policy)|cross-origin-.*|access-control-.*|date|keep-alive|' +
    'referrer-policy|transfer-encoding|vary|x-content-type-options|x-frame-options)$',
)

/** What the document calls a downloaded file, whose type is that of its sender. */
const ANY_FILE = 'application/octet-stream'

const isOfType = (actual: string, documented: string): boolean =>
  documented === ANY_FILE || actual.split(';')[0] === documented.split(';')[0]

/** A JSON pointer in the fragment of a URI. */
const pointerOf = (...names: readonly string[]): string =>
  names.map((name) => `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')

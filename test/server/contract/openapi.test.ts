import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { validate } from '../../../core/schemas/validation.ts'
import { BASE_PATH } from '../../../server/index.ts'
import { formOf } from '../../support/form.ts'
import { ENDPOINTS, endpointOf, OPERATOR_KEY, startService } from '../../support/service.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { temporaryFor } from '../../support/temporary.ts'

interface Operation {
  readonly operationId: string
  readonly description?: string
  readonly security: readonly object[]
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: {
    readonly content: Readonly<
      Record<
        string,
        { readonly schema?: Schema; readonly examples?: { readonly example: { readonly value: unknown } } }
      >
    >
  }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: unknown }>> }>
  >
}
interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}
interface Schema {
  readonly description?: string
  readonly type?: string
  readonly format?: string
  readonly items?: Schema
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

const METHODS = new Set(['get', 'head', 'post', 'put', 'patch', 'delete'])

describe('the OpenAPI document', () => {
  /** As generators of clients get it, and with the JSON bodies. */
  let document: Document
  let whole: Document
  const service = ofSuite(startService)
  const read = async (query: string): Promise<Document> =>
    (await (await service().fetch(`${BASE_PATH}/openapi.json${query}`)).json()) as Document
  before(async () => {
    document = await read('')
    whole = await read('?json=1')
  })

  /** `GET /api/v1/…` of every operation. */
  const documented = (): string[] =>
    Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((method) => METHODS.has(method))
        .map((method) => `${method.toUpperCase()} ${item.servers ? '' : BASE_PATH}${path}`),
    )
  /** The same for every route of the app, except those of the API page and the dashboard. */
  const routed = (): string[] =>
    service()
      .app.routes.map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !/^(?:GET|HEAD) \/(?:(?:docs|ui).*)?$/.test(route))
  const operation = (id: string, from = document): Operation => {
    const found = Object.values(from.paths)
      .flatMap((item) => Object.values(item))
      .find(({ operationId }) => operationId === id)
    assert.ok(found, id)
    return found
  }

  it('describes exactly the routes that exist', () => {
    assert.ok(documented().length >= 60)
    assert.deepEqual(documented().sort(), routed().sort())
  })

  // `/sourceSystem/{COMPANY_ID}/healthz` and tiles' paths are as the contract and C2SP have them: literals win.
  it('passes the linter', async (t) => {
    const directory = await temporaryFor(t)
    for (const [name, content] of Object.entries({ openapi: document, whole }))
      await writeFile(join(directory, `${name}.json`), JSON.stringify(content))
    const packageFile = createRequire(import.meta.url).resolve('@redocly/cli/package.json')
    const env = {
      PATH: process.env['PATH'],
      HOME: directory,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
      CI: 'true',
    }
    const args = [
      join(dirname(packageFile), 'bin', 'cli.js'),
      'lint',
      'openapi.json',
      'whole.json',
      '--extends=recommended',
      '--skip-rule=no-ambiguous-paths',
      '--max-problems=20',
    ]
    const { stderr } = await promisify(execFile)(process.execPath, args, { cwd: directory, env })
    assert.match(stderr, /Your API descriptions are valid/)
    assert.doesNotMatch(stderr, /You have \d+ warning/)
  })

  it('describes every operation and every field', () => {
    const missing = Object.values(document.paths).flatMap((operations) =>
      Object.entries(operations)
        .filter(([method, { description }]) => METHODS.has(method) && !description)
        .map(([, { operationId }]) => operationId),
    )
    const visit = (schema: Schema, path: string): void => {
      for (const [name, property] of Object.entries(schema.properties ?? {})) {
        if (property.description === undefined) missing.push(`${path}.${name}`)
        visit(property, `${path}.${name}`)
      }
      for (const each of [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])]) visit(each, path)
    }
    for (const [name, schema] of Object.entries(document.components.schemas)) visit(schema, name)
    assert.deepEqual(missing, [])
  })

  it('resolves every reference', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name as string,
    )
    assert.ok(references.length > 50)
    for (const name of references) assert.ok(document.components.schemas[name], name)
  })

  it('shows what each operation requires and what it can return', () => {
    const create = operation('createEvidence')
    const statuses = Object.keys(create.responses).join(' ')
    assert.equal(statuses, '201 400 401 403 404 405 409 413 415 429 431 500 503')
    assert.deepEqual(create.security, [{ apiKey: [] }])
    const namesOf = ({ parameters }: Operation): string => parameters.map(({ name }) => name).join(' ')
    assert.equal(namesOf(create), 'COMPANY_ID Idempotency-Key')
    const names = 'COMPANY_ID EVIDENCE_EXTERNAL_ID Idempotency-Key If-Match'
    assert.equal(namesOf(operation('updateEvidence')), names)
    assert.deepEqual(operation('downloadFile').security, [{ apiKey: [] }, {}])
    assert.match(namesOf(operation('downloadFile')), / token /)
    for (const id of ['verifyEvidence', 'openShare']) {
      const { security, responses } = operation(id)
      assert.deepEqual([security, responses['401'], responses['403']], [[], undefined, undefined], id)
    }
    assert.equal(operation('checkSourceSystem').responses['403'], undefined)
  })

  it('lists the form alone for files, as text and binary parts, unless it is asked for JSON, too', () => {
    const contents = (from: Document, id: string): Operation['requestBody'] => operation(id, from).requestBody
    const typesOf = (from: Document, id: string) => Object.keys(contents(from, id)?.content ?? {}).join(' ')
    for (const { id, body } of ENDPOINTS.values()) {
      if (body === undefined) continue
      const form = body.form === undefined ? [] : ['multipart/form-data']
      assert.equal(typesOf(document, id), form[0] ?? 'application/json', id)
      assert.equal(typesOf(whole, id), [...form, 'application/json'].join(' '), id)
    }
    for (const [id, one, many] of [
      ['createEvidence', 'image', 'images'],
      ['createEvidences', 'image', 'images'],
      ['updateEvidence', 'file', 'files'],
    ] as const) {
      const {
        [one]: file,
        [many]: titles,
        [`${many}.items`]: files,
      } = contents(document, id)?.content['multipart/form-data']?.schema?.properties ?? {}
      assert.deepEqual([file?.format, titles?.type, titles?.format], ['binary', 'string', undefined], id)
      assert.deepEqual([files?.type, files?.items], ['array', { type: 'string', format: 'binary' }], id)
    }
    const { content } = operation('downloadFile').responses['200'] ?? {}
    assert.deepEqual(content, { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } })
  })

  it('has one variant of a proof for each status, which requires what it has', () => {
    const schemaOf = (id: string, status: number): unknown =>
      operation(id).responses[status]?.content?.['application/json']?.schema
    for (const [id, name] of [
      ['verifyEvidence', 'EvidenceProof'],
      ['verifyFile', 'FileProof'],
      ['getProof', 'MerkleProof'],
      ['getRoot', 'MerkleRoot'],
    ] as const) {
      assert.deepEqual(schemaOf(id, 200), { $ref: `#/components/schemas/${name}` })
      assert.deepEqual(schemaOf(id, 404), { $ref: `#/components/schemas/${name}NotFound` })
    }
    const { EvidenceProof, FileProof, MerkleProof, EvidenceProofNotFound, EvidenceProofAmbiguous } =
      document.components.schemas
    const required = (schema: Schema | undefined) => schema?.required?.toSorted().join(' ')
    const variants = (union: Schema | undefined) =>
      union?.anyOf?.map((each) => [each.properties?.['status']?.const, required(each)])
    const sorted = (names: string) => names.split(' ').toSorted().join(' ')
    const opened = 'assurance opening status txId'
    const evidence = `${opened} createdAt evidenceId fileCount`
    assert.deepEqual(variants(EvidenceProof), [
      ['ok', sorted(`${evidence} merkle`)],
      ['pending', sorted(evidence)],
    ])
    const file = `${opened} eventTimestamp evidenceId fileId filesSalt filesText`
    assert.deepEqual(variants(FileProof), [
      ['ok', sorted(`${file} merkle`)],
      ['pending', sorted(file)],
      ['deleted', sorted(`${file} deletion`)],
    ])
    assert.deepEqual(variants(MerkleProof), [
      ['ok', sorted(`${opened} batchId checkpoint leafIndex merkleRoot proof sendStatus treeSize`)],
      ['pending', opened],
    ])
    assert.equal(required(EvidenceProofNotFound), 'code error evidenceId status')
    assert.equal(required(EvidenceProofAmbiguous), 'candidates code error evidenceId status')
  })

  it('has examples that fit their schemas, and work when they are sent in its order', async () => {
    await service().company('acme')
    const params: Record<string, string> = { COMPANY_ID: 'acme' }
    /** Only the service knows ids of files, so this one replaces the one of the example. */
    const withFileId = async (): Promise<object> => {
      const call = { key: OPERATOR_KEY, params }
      await service().ok('updateEvidence', { ...call, form: formOf({}, [['file', 'a.txt', 'content']]) })
      const { dt } = await service().ok('listEvidenceFiles', call)
      return { fileId: dt[0].overlayId }
    }
    const sent: string[] = []
    for (const { operationId: id, requestBody } of Object.values(whole.paths).flatMap((item) => Object.values(item))) {
      const example = requestBody?.content['application/json']?.examples?.example.value
      if (example === undefined) continue
      validate(endpointOf(id).body?.schema ?? assert.fail(`${id} has no body`), example)
      const json = id === 'createFileToken' ? await withFileId() : example
      const body = await service().ok(id, { key: OPERATOR_KEY, params, json })
      sent.push(id)
      if (id === 'createCategory') params['CATEGORY_ID'] = body.id
      if (id === 'createSubcategory') params['SUBCATEGORY_ID'] = body.id
      if (id === 'createSourceSystem') params['SYSTEM_ID'] = body.id
      if (id === 'createEvidence') params['EVIDENCE_EXTERNAL_ID'] = (example as { externalId: string }).externalId
    }
    const withBody = [...ENDPOINTS.values()].filter(({ body }) => body !== undefined)
    assert.deepEqual(sent.toSorted(), withBody.map(({ id }) => id).toSorted())
  })
})

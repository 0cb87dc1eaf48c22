// Writes what the typed client knows about the service from the service's OpenAPI document: server/client/types.ts (the
// types of requests and responses) and server/client/routes.ts (the table of endpoints).
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const BANNER = '// Made by `npm run generate` from the OpenAPI document. Do not edit.\n'
/** Without `head`: a program that only needs headers can request them with `fetch`. */
const METHODS = ['get', 'post', 'put', 'patch', 'delete']
/** Path parameters whose name in the client is not the camel case of their name in the document. */
const PARAMETER_NAMES = { EVIDENCE_EXTERNAL_ID: 'externalId', txid: 'txId', L: 'level', N: 'tile' }

const parameterName = (name) =>
  PARAMETER_NAMES[name] ??
  (/^[A-Z_]+$/.test(name) ? name.toLowerCase().replaceAll(/_(.)/g, (_, letter) => letter.toUpperCase()) : name)

/** The document does not depend on what a registry holds, so an empty one in memory serves. */
async function openApiDocument() {
  const { createApp } = await import('../server/index.ts')
  const { openRegistry } = await import('../core/index.ts')
  const { MemoryBlobs, MemoryCheckpointKeys, MemoryRecords, MemorySignedHead } =
    await import('../adapters/memory/index.ts')
  const { createSealer, InlineEngine } = await import('../sealer/index.ts')
  const registry = await openRegistry({
    records: new MemoryRecords(),
    blobs: new MemoryBlobs(),
    signedHead: new MemorySignedHead(),
    secret: new Uint8Array(32).fill(1),
    checkpointSigner: new MemoryCheckpointKeys(),
    sealer: createSealer({ engine: new InlineEngine() }),
  })
  try {
    return createApp({ registry }).document({ json: true })
  } finally {
    await registry.close()
  }
}

// -- types of schemas

const isFile = (schema) => schema.format === 'binary'
const isFiles = (schema) => schema.type === 'array' && isFile(schema.items)
const literal = (value) => (typeof value === 'string' ? `'${value.replaceAll(/['\\]/g, '\\$&')}'` : String(value))
const propertyName = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name))

/** The TypeScript type of a schema. */
function typeOf(schema) {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' | ')
  if (isFile(schema)) return 'Upload'
  if (isFiles(schema)) return 'readonly Upload[]'
  if (schema.type === 'array') return `ReadonlyArray<${typeOf(schema.items)}>`
  if (schema.type === 'object') return objectType(schema)
  return schema.type === 'integer' ? 'number' : (schema.type ?? 'unknown')
}

function objectType({ properties = {}, required = [], additionalProperties }) {
  const names = Object.keys(properties)
  if (names.length === 0) {
    const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'
    return `{ readonly [name: string]: ${values} }`
  }
  return block(names.map((name) => member(name, properties[name], required.includes(name))))
}

const block = (members) => `{\n${indent(members.join('\n'))}\n}`
const indent = (text) => text.replaceAll(/^(?=.)/gm, '  ')

const member = (name, schema, isRequired) =>
  `${comment(schema.description)}readonly ${propertyName(name)}${isRequired ? '' : '?'}: ${typeOf(schema)}`

const comment = (text) => (text === undefined ? '' : `/** ${text.replaceAll('*/', '*\\/')} */\n`)

function declaration(name, schema) {
  const type = typeOf(schema)
  const head = comment(schema.description)
  return type.startsWith('{\n') && schema.type === 'object'
    ? `${head}export interface ${name} ${type}\n`
    : `${head}export type ${name} = ${type}\n`
}

// -- operations

function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => ({
      method: method.toUpperCase(),
      path,
      isRoot: item.servers !== undefined,
      ...item[method],
    })),
  )
}

/** The members of a request: path and query parameters. `companyId` defaults to the client's own. */
function parameterMembers({ parameters = [] }) {
  return parameters
    .filter((parameter) => parameter.in !== 'header')
    .map(({ name, in: position, required, schema, description }) => {
      const isDefaulted = name === 'COMPANY_ID'
      const text = isDefaulted ? 'Default: the company of the client' : (description ?? schema.description)
      return {
        name: position === 'path' ? parameterName(name) : name,
        schema: { ...schema, description: text },
        isRequired: required === true && !isDefaulted,
      }
    })
}

/** The alternatives of a request body, each as a list of members. */
function bodyMembers({ requestBody }, resolve) {
  if (requestBody === undefined) return [[]]
  const { 'application/json': json, 'multipart/form-data': form } = requestBody.content
  const inline = alternativesOf(json.schema, resolve)
  // A form has the fields of the first one.
  const alternatives = form === undefined ? inline : [form.schema, ...inline.slice(1)]
  return alternatives.map(({ properties = {}, required = [] }, i) =>
    Object.entries(properties)
      // The client sends files and their titles under one name.
      .filter(([name]) => /^\w+$/.test(name))
      .map(([name, text]) => {
        const schema = properties[`${name}.items`] ?? text
        const inJson = inline[i]?.properties?.[name]
        const both = isFile(schema) && inJson !== undefined ? { anyOf: [schema, inJson] } : schema
        return { name, schema: both, isRequired: required.includes(name) }
      }),
  )
}

const resolverOf = ({ components: { schemas } }) => {
  const resolve = (schema) => (schema.$ref === undefined ? schema : resolve(schemas[schema.$ref.split('/').at(-1)]))
  return resolve
}

function alternativesOf(schema, resolve) {
  const resolved = resolve(schema)
  return (resolved.anyOf ?? [resolved]).map(resolve)
}

const successOf = ({ responses }) => responses['201'] ?? responses['202'] ?? responses['200'] ?? { content: {} }

/** How the client returns a success: parsed JSON, a text, or the response with its stream. */
function resultOf(operation) {
  const [media = '*/*'] = Object.keys(successOf(operation).content ?? {})
  if (media.startsWith('application/json')) return 'json'
  return media.startsWith('text/plain') ? 'text' : 'response'
}

function resultType(operation) {
  const result = resultOf(operation)
  if (result !== 'json') return result === 'text' ? 'string' : 'Response'
  return typeOf(successOf(operation).content['application/json'].schema)
}

function methodDeclaration(operation, resolve) {
  const parameters = parameterMembers(operation)
  const alternatives = bodyMembers(operation, resolve).map((body) => {
    const all = [...parameters, ...body]
    const names = all.map(({ name }) => name)
    const repeated = names.find((name, i) => names.indexOf(name) !== i)
    if (repeated !== undefined) throw new Error(`${operation.operationId} has two parameters ${repeated}`)
    return all
  })
  const isOptional = alternatives.some((members) => members.every(({ isRequired }) => !isRequired))
  const request = alternatives.map(requestType).join(' | ')
  const text = [operation.summary, operation.description].filter((each) => each !== undefined).join('. ')
  return (
    `${comment(text)}${operation.operationId}(\n  request${isOptional ? '?' : ''}: ` +
    `${indent(request).trimStart()},\n  options?: RequestOptions,\n): Promise<${resultType(operation)}>`
  )
}

const requestType = (members) =>
  members.length === 0
    ? '{ readonly [name: string]: never }'
    : block(members.map(({ name, schema, isRequired }) => member(name, schema, isRequired)))

function emitTypes(document) {
  const { schemas } = document.components
  const resolve = resolverOf(document)
  const operations = operationsOf(document).map((operation) => methodDeclaration(operation, resolve))
  const declarations = Object.entries(schemas).map(([name, schema]) => declaration(name, schema))
  return [
    `${BANNER}import type { RequestOptions, Upload } from './options.ts'\n`,
    '/** Every endpoint of the service, by the id of its operation. */\nexport interface Operations ' +
      `${block(operations)}\n`,
    ...declarations,
  ].join('\n')
}

// -- the table

const isUpload = (schema) => [schema, ...(schema.anyOf ?? [])].some((each) => isFile(each) || isFiles(each))

function route(operation, resolve) {
  const { method: verb, operationId, security = [], parameters = [], isRoot } = operation
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name) => `{${parameterName(name)}}`)
  const needsKey = security.some((scheme) => 'apiKey' in scheme)
  const isIdempotent = parameters.some(({ name }) => name === 'Idempotency-Key')
  const isSafe = verb === 'GET' || (verb === 'POST' && !needsKey)
  const repeat = isSafe ? 'safe' : isIdempotent ? 'idempotent' : 'never'
  const members = bodyMembers(operation, resolve).flat()
  const files = members.filter(({ schema }) => isUpload(schema)).map(({ name }) => literal(name))
  const flags = [
    needsKey ? 'keyed: true, ' : '',
    isRoot ? 'root: true, ' : '',
    files.length > 0 ? `files: [${files.join(', ')}], ` : '',
  ].join('')
  return (
    `${operationId}: { method: '${verb}', path: '${path}', ${flags}repeat: '${repeat}', result: ` +
    `'${resultOf(operation)}' },`
  )
}

const emitRoutes = (document) =>
  [
    `${BANNER}import type { Route } from './route.ts'\nimport type { Operations } from './types.ts'\n`,
    'export const ROUTES: { readonly [K in keyof Operations]: Route } = ' +
      `${block(operationsOf(document).map((operation) => route(operation, resolverOf(document))))}\n`,
  ].join('\n')

const document = await openApiDocument()
const outputs = { 'server/client/types.ts': emitTypes(document), 'server/client/routes.ts': emitRoutes(document) }
for (const [path, content] of Object.entries(outputs)) writeFileSync(join(root, path), content)

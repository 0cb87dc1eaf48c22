import assert from 'node:assert/strict'
import { BASE_PATH } from '../../../server/index.ts'
import { formOf } from '../form.ts'
import type { Operation, Parameter, RequestSource } from './requests.ts'
import type { Schema } from './values.ts'

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface DocumentedOperation {
  readonly operationId?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, DocumentedBody>> }
  readonly security?: readonly object[]
}

interface DocumentedBody {
  readonly schema: Schema
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

/** The OpenAPI document of a service, and what exists in its registry. */
export interface Subject {
  readonly document: object
  readonly operations: readonly Operation[]
  readonly source: RequestSource
}

const COMPANY = 'acme'
const EXTERNAL_IDS = ['e-1', 'e-2', 'ä/3 %2F']

/** Reads the document of a service without data, and creates source systems and evidences with files. */
export async function createSubject(url: string, operatorKey: string): Promise<Subject> {
  const call = caller(`${url}${BASE_PATH}`, operatorKey)
  const document = (await call('/openapi.json?json=1')) as Document
  const keys = [operatorKey]
  for (const permissions of ['R', 'I', 'U', 'A']) {
    const apiKey = `a-key-with-level-${permissions}`
    await call(`/sourceSystem/${COMPANY}`, JSON.stringify({ name: `system ${permissions}`, permissions, apiKey }))
    keys.push(apiKey)
  }
  const values = await createEvidences(call)
  const resolve = (reference: string): Schema => {
    const schema = document.components.schemas[reference.split('/').at(-1) ?? '']
    assert.ok(schema, `the document has no ${reference}`)
    return schema
  }
  const known = [...new Set(Object.values(values).flat())]
  return { document, operations: operationsOf(document), source: { resolve, known, values, keys } }
}

/** A path with servers of its own is not below the base path. */
const operationsOf = ({ paths }: Document): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      const { operationId, parameters = [], requestBody, security = [] } = operation
      if (operationId === undefined) return []
      const content = Object.entries(requestBody?.content ?? {})
      return {
        id: operationId,
        method,
        path: `${'servers' in item ? '' : BASE_PATH}${path}`,
        parameters,
        bodies: new Map(content.map(([type, { schema }]) => [type, schema])),
        examples: content.flatMap(([, { examples = {} }]) => Object.values(examples).map(({ value }) => value)),
        needsKey: security.length > 0,
      }
    }),
  )

type Call = (path: string, body?: string | FormData) => Promise<unknown>

/** GETs, and POSTs of JSON or of a form, which must succeed. */
const caller =
  (base: string, key: string): Call =>
  async (path, body) => {
    const headers = { 'x-api-key': key, ...(typeof body === 'string' && { 'content-type': 'application/json' }) }
    const response = await fetch(`${base}${path}`, { headers, ...(body !== undefined && { method: 'POST', body }) })
    const text = await response.text()
    assert.ok(response.ok, `${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }

/** Creates evidences with files, and returns ids by the names of the parameters that accept them. */
async function createEvidences(call: Call): Promise<Record<string, readonly string[]>> {
  const evidences = `/evidences/${COMPANY}`
  for (const externalId of EXTERNAL_IDS) {
    const fields = { categoryName: 'Tools', subcategoryName: 'Drills', externalId, name: externalId, owner: 'Ada' }
    const files = [
      ['images.items', 'a.txt', 'content'],
      ['images.items', 'b.txt', 'x'.repeat(100_000)],
    ] as const
    await call(`${evidences}/evidence`, formOf(fields, files))
  }
  const files = EXTERNAL_IDS.map((id) => `${evidences}/evidence/${encodeURIComponent(id)}/files`)
  const paths = [`${evidences}/evidences`, `${evidences}/category`, `/sourceSystem/${COMPANY}`, ...files]
  const text = JSON.stringify(await Promise.all(paths.map((path) => call(path))))
  const ids = [...new Set(text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g))]
  const txIds = [...new Set(text.match(/[0-9a-f]{64}/g))]
  const idNames = 'CATEGORY_ID SUBCATEGORY_ID SYSTEM_ID fileId categoryId subcategoryId batchId last'
  return {
    ...Object.fromEntries(idNames.split(' ').map((name) => [name, ids])),
    COMPANY_ID: [...Array.from({ length: 12 }, () => COMPANY), 'other'],
    companyId: [COMPANY],
    EVIDENCE_EXTERNAL_ID: EXTERNAL_IDS,
    evidenceId: [...EXTERNAL_IDS, ...ids],
    externalId: ['e', 'e-1'],
    owner: ['Ada', 'ada'],
    txId: txIds,
    txid: txIds,
    L: ['0', '1', '2', '63'],
    N: ['000', '000.p/1', '000.p/4', '000.p/256', 'x001/000', '999'],
    fields: ['all', 'none', 'name', 'name,owner', 'name,name'],
    files: ['all', 'none', ...ids],
    disclose: ['true', 'false', '1'],
    Range: ['bytes=0-', 'bytes=-5', 'bytes=5-1', 'bytes=9999999999999999999-', 'bytes=0-1,3-4', 'lines=1'],
    'If-Match': ['"1"', '*', 'W/"1"', '1'],
    'If-None-Match': ['*', '"1"', 'x'],
    'Idempotency-Key': ['key-1', 'key-2', 'key-3'],
  }
}

import assert from 'node:assert/strict'
import type { Operation, Parameter, RequestSource } from './requests.ts'
import { OPERATOR_KEY, type Target } from './target.ts'
import type { Schema } from './values.ts'

/** What exists in the registry before the first request, and the operations of its document. */
export interface Fixture {
  readonly document: object
  readonly operations: readonly Operation[]
  readonly source: Omit<RequestSource, 'random'>
}

const BASE = '/api/v1'
const COMPANY = 'acme'

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface DocumentedOperation {
  readonly operationId?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, DocumentedBody>> }
  readonly security?: readonly object[]
  readonly servers?: readonly object[]
}

interface DocumentedBody {
  readonly schema: Schema
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

export async function createFixture(target: Target): Promise<Fixture> {
  const document = (await (await fetch(`${target.url}${BASE}/openapi.json`)).json()) as Document
  const keys = [OPERATOR_KEY]
  for (const permissions of ['R', 'I', 'U', 'A']) keys.push(await createSystem(target, permissions))
  const values = await createEvidences(target)
  const known = [...new Set(Object.values(values).flat())]
  const resolve = (reference: string): Schema => {
    const schema = document.components.schemas[reference.split('/').at(-1) ?? '']
    assert.ok(schema, `the document has no ${reference}`)
    return schema
  }
  return { document, operations: operationsOf(document), source: { resolve, known, values, keys } }
}

/** An operation with servers of its own is not below the base path. */
const operationsOf = ({ paths }: Document): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { operationId, parameters = [], requestBody, security = [], servers }]) =>
      operationId === undefined
        ? []
        : [
            {
              id: operationId,
              method,
              path: `${servers === undefined && !isRoot(path) ? BASE : ''}${path}`,
              parameters,
              bodies: new Map(Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => [type, schema])),
              examples: Object.values(requestBody?.content ?? {}).flatMap(({ examples = {} }) =>
                Object.values(examples).map(({ value }) => value),
              ),
              needsKey: security.length > 0,
            },
          ],
    ),
  )

const isRoot = (path: string): boolean => ['/livez', '/readyz', '/metrics'].includes(path)

async function call(target: Target, path: string, init: RequestInit = {}): Promise<ReturnType<typeof JSON.parse>> {
  const headers = { 'x-api-key': OPERATOR_KEY, ...(typeof init.body === 'string' && JSON_TYPE) }
  const response = await fetch(`${target.url}${BASE}${path}`, { ...init, headers })
  const text = await response.text()
  assert.ok(response.ok, `${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

const JSON_TYPE = { 'content-type': 'application/json' }

async function createSystem(target: Target, permissions: string): Promise<string> {
  const apiKey = `a-key-with-level-${permissions}`
  const body = JSON.stringify({ name: `system ${permissions}`, permissions, apiKey })
  await call(target, `/sourceSystem/${COMPANY}`, { method: 'POST', body })
  return apiKey
}

/** Creates evidences with files, and returns ids by the names of the parameters that accept them. */
async function createEvidences(target: Target): Promise<Record<string, readonly string[]>> {
  const externalIds = ['e-1', 'e-2', 'ä/3 %2F']
  for (const externalId of externalIds) {
    const form = new FormData()
    const fields = { categoryName: 'Tools', subcategoryName: 'Drills', externalId, name: externalId, owner: 'Ada' }
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.append('images.items', new Blob(['content'], { type: 'text/plain' }), 'a.txt')
    form.append('images.items', new Blob(['x'.repeat(100_000)], { type: 'text/plain' }), 'b.txt')
    await call(target, `/evidences/${COMPANY}/evidence`, { method: 'POST', body: form })
  }
  const text = JSON.stringify([
    await call(target, `/evidences/${COMPANY}/evidences`),
    await call(target, `/evidences/${COMPANY}/category`),
    await call(target, `/sourceSystem/${COMPANY}`),
    ...(await Promise.all(
      externalIds.map((id) => call(target, `/evidences/${COMPANY}/evidence/${encodeURIComponent(id)}/files`)),
    )),
  ])
  const ids = [...new Set(text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g))]
  const txIds = [...new Set(text.match(/[0-9a-f]{64}/g))]
  const uuids = Object.fromEntries(
    ['CATEGORY_ID', 'SUBCATEGORY_ID', 'SYSTEM_ID', 'fileId', 'categoryId', 'subcategoryId', 'batchId', 'last'].map(
      (name) => [name, ids],
    ),
  )
  return {
    ...uuids,
    COMPANY_ID: [...Array.from({ length: 12 }, () => COMPANY), 'other'],
    companyId: [COMPANY],
    EVIDENCE_EXTERNAL_ID: externalIds,
    evidenceId: [...externalIds, ...ids],
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

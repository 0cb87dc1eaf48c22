import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { parametersOf, type Endpoint } from '../../../server/contract/endpoint.ts'
import { formOf } from '../../support/form.ts'
import { ENDPOINTS, startService, type CallOptions, type Company, type Service } from '../../support/service.ts'

/** Valid values, nearly valid values, and values that break careless code. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    'x',
    '.',
    '..',
    '0',
    'true',
    '{}',
    '[]',
    'null',
    '__proto__',
    'constructor',
    'a/b',
    '%00',
    '\u0000',
    '\ud800',
    '01890a5d-ac96-774b-bcce-b302099a8057',
    'ab'.repeat(32),
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
const value = fc.oneof(text, fc.jsonValue({ maxDepth: 4 }))

/** The names of an object schema's properties. */
const propertiesOf = (schema: { readonly properties?: object } | undefined): readonly string[] =>
  Object.keys(schema?.properties ?? {})

const namesOf = ({ body, query }: Endpoint): { fields: readonly string[]; queries: readonly string[] } => ({
  fields: [...propertiesOf(body?.schema), ...(body?.form?.slots.map(({ name }) => name) ?? []), 'evidences', 'unknown'],
  queries: [...propertiesOf(query), 'unknown'],
})

/** A request that is nearly valid. */
function requestFor(endpoint: Endpoint): fc.Arbitrary<CallOptions> {
  const { fields, queries } = namesOf(endpoint)
  const dictionary = <T>(names: readonly string[], values: fc.Arbitrary<T>) =>
    fc.dictionary(fc.constantFrom(...names), values, { maxKeys: 6 })
  const file = fc.tuple(
    fc.constantFrom(...fields),
    fc.string({ maxLength: 8 }),
    fc.string({ maxLength: 20 }),
    fc.constantFrom('text/plain', 'image/png', 'x'),
  )
  const form = fc
    .tuple(dictionary(fields, text), fc.array(file, { maxLength: 3 }))
    .map(([texts, files]) => ({ form: formOf(texts, files) }))
  const json = dictionary(fields, value).map((body) => ({ json: JSON.stringify(body) }))
  const body =
    endpoint.body === undefined ? fc.constant({}) : endpoint.body.form === undefined ? json : fc.oneof(json, form)
  const segment = text.filter((part) => part.isWellFormed() && part !== '' && part !== '.' && part !== '..')
  const params = fc.record(
    Object.fromEntries(
      parametersOf(endpoint.path)
        .filter((name) => name !== 'COMPANY_ID')
        .map((name) => [name, segment]),
    ),
  )
  const query = dictionary(queries, text)
  return fc.tuple(body, params, query).map(([sent, path, asked]) => ({
    ...sent,
    params: { COMPANY_ID: 'acme', ...path },
    query: asked,
  }))
}

describe('arbitrary requests', () => {
  let service: Service
  let company: Company
  before(async () => {
    service = await startService({ sealMaxWaitMs: 3_600_000 })
    company = await service.company('acme')
  })
  after(() => service.close())

  for (const endpoint of ENDPOINTS.values())
    it(`${endpoint.id} responds in its own shapes and never fails`, async () => {
      await fc.assert(
        fc.asyncProperty(requestFor(endpoint), async (options) => {
          // `call` checks the shape of every response.
          const { status, text: said } = await service.call(endpoint.id, { key: company.keys.A, ...options })
          assert.ok(status < 500, `${status} ${said}`)
        }),
        { numRuns: 25 },
      )
      assert.deepEqual(await service.unfinished(), [])
    })
})

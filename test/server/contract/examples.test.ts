import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BASE_PATH } from '../../../server/index.ts'
import { formOf } from '../../support/form.ts'
import { OPERATOR_KEY, startService, type Service } from '../../support/service.ts'

interface Operation {
  readonly operationId: string
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': { readonly examples: { readonly example: { readonly value: unknown } } }
    }
  }
}

/** The operations with an example, in the order of the document. */
async function examplesOf(service: Service): Promise<readonly (readonly [id: string, example: unknown])[]> {
  const { paths } = (await (await service.fetch(`${BASE_PATH}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }
  return Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap(({ operationId, requestBody }) =>
      requestBody === undefined
        ? []
        : [[operationId, requestBody.content['application/json'].examples.example.value] as const],
    )
}

describe('the examples of the OpenAPI document', () => {
  let service: Service
  before(async () => {
    service = await startService()
    await service.company('acme')
  })
  after(() => service.close())

  it('work when they are sent in the order of the document', async () => {
    const params: Record<string, string> = { COMPANY_ID: 'acme' }
    /** Only the service knows ids of files, so this one replaces the one of the example. */
    const withFileId = async (): Promise<object> => {
      const call = { key: OPERATOR_KEY, params }
      await service.ok('updateEvidence', { ...call, form: formOf({}, [['file', 'a.txt', 'content']]) })
      const { dt } = await service.ok('listEvidenceFiles', call)
      return { fileId: dt[0].overlayId }
    }
    const examples = await examplesOf(service)
    assert.ok(examples.length >= 11)
    for (const [id, example] of examples) {
      const json = id === 'createFileToken' ? await withFileId() : example
      const body = await service.ok(id, { key: OPERATOR_KEY, params, json })
      if (id === 'createCategory') params['CATEGORY_ID'] = body.id
      if (id === 'createSubcategory') params['SUBCATEGORY_ID'] = body.id
      if (id === 'createSourceSystem') params['SYSTEM_ID'] = body.id
      if (id === 'createEvidence') params['EVIDENCE_EXTERNAL_ID'] = (example as { externalId: string }).externalId
    }
  })
})

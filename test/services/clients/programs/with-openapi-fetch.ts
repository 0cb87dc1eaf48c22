import createClient from 'openapi-fetch'
import type { paths } from './openapi-typescript.ts'
import { company, fieldsOf, formOf, present, proofIn, type Outcome, type Task } from './task.ts'

export async function run(task: Task): Promise<Outcome> {
  const { baseUrl, key, externalId, photo, report, receipt } = task
  const client = createClient<paths>({ baseUrl, headers: { 'X-API-Key': key } })
  const path = { COMPANY_ID: company, EVIDENCE_EXTERNAL_ID: externalId }
  const created = await client.POST('/evidences/{COMPANY_ID}/evidence', {
    params: { path },
    body: { ...fieldsOf(task), image: photo, 'images.items': [report] },
    bodySerializer: formOf,
  })
  const list = await client.GET('/evidences/{COMPANY_ID}/evidences', { params: { path, query: { externalId } } })
  await client.PUT('/evidences/{COMPANY_ID}/evidence/{EVIDENCE_EXTERNAL_ID}', {
    params: { path },
    body: { file: receipt },
    bodySerializer: formOf,
  })
  const page = await client.GET('/evidences/{COMPANY_ID}/evidence/{EVIDENCE_EXTERNAL_ID}', { params: { path } })
  const content = await client.GET('/evidences/{COMPANY_ID}/file', {
    params: { path, query: { fileId: present(page.data?.object.imageId) } },
    parseAs: 'arrayBuffer',
  })
  const proof = await client.GET('/merkle/verify/{evidenceId}', {
    params: { path: { evidenceId: present(created.data).id } },
  })
  return {
    listed: present(list.data).dts.map((each) => each.externalId),
    events: present(page.data).events.map(({ type, updateType }) => updateType ?? type),
    content: present(content.data),
    proof: proofIn(proof.data),
  }
}

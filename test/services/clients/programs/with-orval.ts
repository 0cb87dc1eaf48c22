import * as api from './orval.ts'
import { company, fieldsOf, present, proofIn, type Outcome, type Task } from './task.ts'

export async function run(task: Task): Promise<Outcome> {
  const { baseUrl: baseURL, key, externalId, photo, report, receipt } = task
  const options = { baseURL, headers: { 'X-API-Key': key } }
  const body = { ...fieldsOf(task), 'images.items': [photo, report] }
  const created = await api.createEvidence(company, body, options)
  const list = await api.listEvidences(company, { externalId }, options)
  await api.updateEvidence(company, externalId, { file: receipt }, options)
  const page = await api.getEvidence(company, externalId, {}, options)
  const fileId = present(created.data.events[0]?.files?.[0])
  // Only with this adapter, axios makes blobs in Node.
  const content = await api.downloadFile(company, { fileId }, { ...options, adapter: 'fetch' })
  const proof = await api.verifyEvidence(created.data.id, {}, options)
  return {
    listed: list.data.dts.map((each) => each.externalId),
    events: page.data.events.map(({ type, updateType }) => updateType ?? type),
    content: await content.data.arrayBuffer(),
    proof: proofIn(proof.data),
  }
}

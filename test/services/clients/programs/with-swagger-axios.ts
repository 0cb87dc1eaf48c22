import { Api } from './swagger-axios.ts'
import { company, fieldsOf, present, type Outcome, type Task } from './task.ts'

export async function run(task: Task): Promise<Outcome> {
  const { baseUrl: baseURL, key, externalId, photo, report, receipt } = task
  const { evidences, merkle } = new Api({ baseURL, headers: { 'X-API-Key': key } })
  const created = await evidences.createEvidence(company, { ...fieldsOf(task), 'images.items': [photo, report] })
  const list = await evidences.listEvidences(company, { externalId })
  await evidences.updateEvidence(company, externalId, { file: receipt })
  const page = await evidences.getEvidence(company, externalId)
  const fileId = present(created.data.events[0]?.files?.[0])
  // Only with this adapter, axios makes blobs in Node.
  const content = await evidences.downloadFile(company, { fileId }, { format: 'blob', adapter: 'fetch' })
  const proof = await merkle.verifyEvidence(created.data.id)
  return {
    listed: list.data.dts.map((each) => each.externalId),
    events: page.data.events.map(({ type, updateType }) => updateType ?? type),
    content: await content.data.arrayBuffer(),
    proof: proof.data,
  }
}

import { Api } from './swagger-fetch.ts'
import { company, fieldsOf, formOf, present, type Outcome, type Task } from './task.ts'

export async function run(task: Task): Promise<Outcome> {
  const { baseUrl, key, externalId, photo, report, receipt } = task
  const { evidences, merkle } = new Api({ baseUrl, baseApiParams: { headers: { 'X-API-Key': key } } })
  const body = { ...fieldsOf(task), 'images.items': [photo, report] }
  // It sends a list of files as JSON, but a form as it is.
  const created = await evidences.createEvidence(company, formOf(body) as unknown as typeof body)
  const list = await evidences.listEvidences(company, { externalId })
  await evidences.updateEvidence(company, externalId, { file: receipt })
  const page = await evidences.getEvidence(company, externalId)
  const fileId = present(created.data.events[0]?.files?.[0])
  const content = await evidences.downloadFile(company, { fileId })
  const proof = await merkle.verifyEvidence(created.data.id)
  return {
    listed: list.data.dts.map((each) => each.externalId),
    events: page.data.events.map(({ type, updateType }) => updateType ?? type),
    content: await content.arrayBuffer(),
    proof: proof.data,
  }
}

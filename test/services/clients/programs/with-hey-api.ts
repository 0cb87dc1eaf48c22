import { client } from './hey-api/client.gen.ts'
import * as api from './hey-api/sdk.gen.ts'
import { company, fieldsOf, present, proofIn, type Outcome, type Task } from './task.ts'

export async function run(task: Task): Promise<Outcome> {
  const { baseUrl, key, externalId, photo, report, receipt } = task
  client.setConfig({ baseUrl, auth: key, throwOnError: true })
  const path = { COMPANY_ID: company, EVIDENCE_EXTERNAL_ID: externalId }
  const created = await api.createEvidence({ path, body: { ...fieldsOf(task), 'images.items': [photo, report] } })
  const list = await api.listEvidences({ path, query: { externalId } })
  await api.updateEvidence({ path, body: { file: receipt } })
  const page = await api.getEvidence({ path })
  const fileId = present(created.data?.events[0]?.files?.[0])
  const content = await api.downloadFile({ path, query: { fileId } })
  const proof = await api.verifyEvidence({ path: { evidenceId: present(created.data).id } })
  return {
    listed: present(list.data).dts.map((each) => each.externalId),
    events: present(page.data).events.map(({ type, updateType }) => updateType ?? type),
    content: await present(content.data).arrayBuffer(),
    proof: proofIn(proof.data),
  }
}

import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { DocumentCheck } from '../../support/document-check.ts'
import { requestsTo } from '../../support/random-requests/requests.ts'
import { send } from '../../support/random-requests/send.ts'
import { createSubject, type Subject } from '../../support/random-requests/source.ts'
import { ENDPOINTS, OPERATOR_KEY, startService } from '../../support/service.ts'
import { ofSuite } from '../../support/of-suite.ts'

describe('random requests', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let subject: Subject
  let check: DocumentCheck
  const service = ofSuite(() => startService({ sealMaxWaitMs: 3_600_000 }))
  before(async () => {
    subject = await createSubject(service().url, OPERATOR_KEY)
    check = new DocumentCheck(subject.document)
  })
  after(async () => {
    agent.destroy()
  })

  for (const { id } of ENDPOINTS.values())
    it(`get a response of ${id} that the document describes, and no 5xx`, async () => {
      const operation = subject.operations.find((each) => each.id === id)
      assert.ok(operation)
      const respondsRightly = fc.asyncProperty(requestsTo(operation, subject.source), async (request) => {
        const response = await send(service().port, agent, request)
        assert.ok(response.status < 500, `${response.status} ${response.text}`)
        if (request.isRouted) check.check(id, response)
      })
      await fc.assert(respondsRightly, { numRuns: 25 })
      assert.deepEqual(await service().unfinished(), [])
    })
})

// Uses the client alone, against a server that returns the request in the error.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createClient, EvidenceRegistryError } from 'evidence-registry/client'

const server = createServer((request, response) => {
  response.writeHead(404, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify({ code: 'EVIDENCE_NOT_FOUND', error: `${request.url} ${String(request.headers['x-api-key'])}` }),
  )
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const baseUrl = `http://127.0.0.1:${server.address().port}/api/v1`
const client = createClient({ baseUrl, companyId: 'acme', apiKey: 'a-key-of-the-test' })
const error = await client.getEvidence({ externalId: 'a/b' }).catch((reason) => reason)
assert.ok(error instanceof EvidenceRegistryError)
assert.deepEqual([error.code, error.status], ['EVIDENCE_NOT_FOUND', 404])
assert.match(error.message, /\/api\/v1\/evidences\/acme\/evidence\/a%2Fb a-key-of-the-test$/)
server.close()
server.closeAllConnections()

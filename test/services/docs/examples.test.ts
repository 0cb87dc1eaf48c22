import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { examples, needsService, runExample } from '../../support/examples.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { withService } from '../../support/s3-service.ts'

const exampleOf = (call: string) => {
  const example = examples().find((each) => needsService(each) && each.code.includes(call))
  if (example === undefined) throw new Error(`No docstring has an example of ${call}`)
  return example
}

describe('the example of PostgreSQL', () => {
  it('runs', async () => {
    const server = await PostgresServer.shared()
    const example = exampleOf('openPostgresRecords')
    const code = example.code.replace('postgres://user:password@localhost:5432/evidence', server.url())
    await runExample({ ...example, code }, {})
  })
})

withService('the example of S3', (service) => {
  it('runs', async () => {
    const example = exampleOf('openS3Blobs')
    const code = example.code.replace("{ bucket: 'my-evidence', region: 'eu-central-1' }", 'settings')
    const stream = Readable.from([Buffer.from('an invoice')])
    await runExample({ ...example, code }, { settings: service().settings(), stream })
  })
})

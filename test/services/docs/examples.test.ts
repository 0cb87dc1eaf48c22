import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { examples, needsService, runExample } from '../../support/examples.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { cephIsMissing } from '../../support/ceph.ts'
import { Service } from '../../support/s3-service.ts'

const exampleOf = (call: string) => {
  const example = examples().find((each) => needsService(each) && each.code.includes(call))
  if (example === undefined) throw new Error(`No docstring has an example of ${call}`)
  return example
}

describe('the examples of the docstrings', () => {
  it('open PostgreSQL', async () => {
    const server = await PostgresServer.shared()
    const example = exampleOf('openPostgresRecords')
    const code = example.code.replace('postgres://user:password@localhost:5432/evidence', server.url())
    await runExample({ ...example, code }, {})
  })

  it('open a bucket', { skip: cephIsMissing }, async (t) => {
    const service = await Service.start()
    t.after(() => service.stop())
    const example = exampleOf('openS3Blobs')
    const code = example.code.replace("{ bucket: 'my-evidence', region: 'eu-central-1' }", 'settings')
    await runExample({ ...example, code }, { settings: service.settings(), stream: Readable.from([Buffer.from('x')]) })
  })
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { it } from 'node:test'
import { isRegistryError, type Logger } from '../../../core/index.ts'
import { openPostgres } from '../../../server/startup/records.ts'

it('says that it waits for an unreachable PostgreSQL, and then what to do, without the password', async () => {
  // A port on which nothing listens any more.
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  const lines: string[] = []
  const keep = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`)
  const logger: Logger = { debug() {}, info: keep, warn: keep, error: keep }
  const opening = openPostgres(`postgres://me:hunter2@127.0.0.1:${port}/registry`, {
    logger,
    noticeIntervalMs: 10,
    retryForMs: 500,
  })
  await assert.rejects(opening, (error: unknown) => {
    assert.ok(isRegistryError(error, 'UNAVAILABLE'))
    assert.ok(error.message.startsWith(`PostgreSQL at 127.0.0.1:${port}/registry cannot be used (`), error.message)
    assert.match(error.message, /ECONNREFUSED.*correct EVIDENCE_POSTGRES_URL$/)
    assert.doesNotMatch(error.message, /hunter2/)
    return true
  })
  assert.ok(lines.some((line) => line.startsWith('waiting for PostgreSQL') && line.includes(`127.0.0.1:${port}`)))
  assert.doesNotMatch(lines.join(), /hunter2/)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { it } from 'node:test'
import { isRegistryError } from '../../../core/index.ts'
import { fillStore } from '../../../core/ops/index.ts'
import { openLevel, openPostgres, openRecords } from '../../../server/startup/records.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { temporaryFor } from '../../support/temporary.ts'

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('says what to do about an unreachable PostgreSQL, without the password', async () => {
  // An address at which nothing listens any more.
  const server = createServer()
  const address = await listen(server)
  server.close()
  const { logger, lines } = recordingLogger()
  const opening = openPostgres(`postgres://me:hunter2@${address}/registry`, {
    logger,
    retryForMs: 500,
  })
  await assert.rejects(opening, (error: unknown) => {
    assert.ok(isRegistryError(error, 'UNAVAILABLE'))
    assert.ok(error.message.startsWith(`PostgreSQL at ${address}/registry cannot be used (`), error.message)
    assert.match(error.message, /ECONNREFUSED.*correct EVIDENCE_POSTGRES_URL$/)
    assert.doesNotMatch(error.message, /hunter2/)
    return true
  })
  assert.doesNotMatch(JSON.stringify(lines), /hunter2/)
})

/** The response of a PostgreSQL that does not have the database. */
const NO_DATABASE = (() => {
  const fields = Buffer.from('SFATAL\0VFATAL\0C3D000\0Mthe database does not exist\0\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(4 + fields.length, 1)
  return Buffer.concat([head, fields])
})()

it('says that it waits for PostgreSQL, and why, without the password', async (t) => {
  const { logger, lines } = recordingLogger()
  const hasNotice = (): boolean =>
    lines.some(({ message, reason }) => message.startsWith('waiting for PostgreSQL') && reason !== undefined)
  // Each connection is lost until the notice is there.
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    if (hasNotice()) socket.once('data', () => socket.end(NO_DATABASE))
    else socket.destroy()
  })
  const address = await listen(server)
  t.after(() => server.close())
  const opening = openPostgres(`postgres://me:hunter2@${address}/registry`, {
    logger,
    noticeIntervalMs: 10,
    retryForMs: 300_000,
  })
  await assert.rejects(opening, { code: 'UNAVAILABLE', message: /the database does not exist/ })
  assert.match(JSON.stringify(lines), /"reason":"Connection terminated/)
  assert.ok(JSON.stringify(lines).includes(`${address}/registry`))
  assert.doesNotMatch(JSON.stringify(lines), /hunter2/)
})

it('refuses what an interrupted copy has left, and closes it', async (t) => {
  const dataDir = await temporaryFor(t)
  const copy = await openLevel(dataDir)
  const cutOff = (async function* (): AsyncGenerator<Uint8Array> {
    yield new Uint8Array()
    throw new Error('cut off')
  })()
  await assert.rejects(fillStore(cutOff, copy), /cut off/)
  await copy.close()
  const settings = { records: 'level', postgresUrl: undefined, dataDir, acceptClock: false, takeOver: false } as const
  await assert.rejects(openRecords(settings), { code: 'CONFIG_ERROR', message: /is an unfinished copy/ })
  await (await openLevel(dataDir)).close()
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { PostgresProxy } from '../../support/postgres-proxy.ts'
import { debianPrograms, postgresDirectory, postgresUser, PostgresServer } from '../../support/postgres-server.ts'
import { assertSteps, load, stepOf } from '../../support/postgres-steps.ts'

const programs = await debianPrograms()
const skip =
  programs === undefined ? 'fail-over needs PostgreSQL with pg_basebackup: apt-get install postgresql' : false

/** A primary that acknowledges what a standby has, that standby, and an address that leads to one of them. */
async function startPair(t: TestContext) {
  assert.ok(programs)
  const primary = await PostgresServer.start({
    programs,
    settings: ['synchronous_standby_names=*', 'wal_sender_timeout=2s'],
  })
  t.after(() => primary.stop())
  const directory = await postgresDirectory()
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres']
  await promisify(execFile)(
    programs.baseBackup,
    [...from, '-D', directory, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'],
    {
      ...postgresUser,
      cwd: directory,
    },
  )
  const standby = await PostgresServer.start({
    programs,
    directory,
    settings: ['synchronous_standby_names=', 'wal_retrieve_retry_interval=100ms'],
  })
  t.after(() => standby.stop())
  const proxy = await PostgresProxy.start(primary.port)
  t.after(() => proxy.stop())
  return { primary, standby, proxy }
}

describe('with a synchronous standby', { skip }, () => {
  it('a fail-over loses nothing acknowledged, and nobody sees an error', async (t) => {
    const { primary, standby, proxy } = await startPair(t)
    const store = await openPostgresRecords({ url: proxy.url(), retryForMs: 20_000 })
    t.after(() => store.close())
    const running = load(store, 8)
    await delay(500)
    await primary.kill()
    // For a while the address leads to a standby, which takes no writes.
    proxy.target = standby.port
    await delay(200)
    await standby.query('select pg_promote()')
    await delay(500)
    const done = await running.stop()
    assert.ok(done.length > 50, `only ${done.length} commits`)
    await assertSteps(store, done)
  })

  it('a commit whose wait for the standby is cancelled is not acknowledged before the standby has it', async (t) => {
    const { primary, standby, proxy } = await startPair(t)
    const reasons: unknown[] = []
    const note = (fields: object): void => void ('reason' in fields && reasons.push(fields.reason))
    const logger = { debug: () => undefined, info: note, warn: () => undefined, error: () => undefined }
    const store = await openPostgresRecords({ url: proxy.url(), logger })
    t.after(() => store.close())
    const [before, waiting] = [stepOf('before'), stepOf('waiting')]
    assert.ok((await store.commit(before)).ok)
    await standby.kill()
    let isAnswered = false
    const commit = store.commit(waiting).finally(() => (isAnswered = true))
    const waits = `select pid from pg_stat_activity where wait_event = 'SyncRep' and query = 'commit'`
    for (const end = performance.now() + 5_000; (await primary.query(waits)).length === 0; await delay(20))
      assert.ok(performance.now() < end, 'no commit waits for the standby')
    // The server now answers COMMIT, with a warning.
    await primary.query(`select pg_cancel_backend(pid) from (${waits}) as waiting`)
    await delay(300)
    assert.equal(isAnswered, false)
    await standby.restart()
    assert.ok((await commit).ok)
    assert.match(String(reasons.at(-1)), /synchronous replication/)
    await primary.kill()
    await standby.query('select pg_promote()')
    proxy.target = standby.port
    await assertSteps(store, [before, waiting])
  })
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { connectRecords } from '../../../adapters/postgres/records.ts'
import { until } from '../../support/manual-clock.ts'
import { PostgresProxy } from '../../support/postgres-proxy.ts'
import { debianPrograms, postgresDirectory, postgresUser, PostgresServer } from '../../support/postgres-server.ts'
import { assertSteps, startLoad, stepOf } from '../../support/postgres-steps.ts'
import { recordingLogger } from '../../support/recording-logger.ts'

/** For conditions that hold sooner or later, however slow the machine is. */
const DEADLINE_MS = 120_000

const programs = await debianPrograms()
const skip =
  programs === undefined ? 'fail-over needs PostgreSQL with pg_basebackup: apt-get install postgresql' : false

/** Starts a primary with a synchronous standby, that standby, and a proxy that forwards to the primary. */
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
  it('a fail-over loses no acknowledged commit and throws no error', async (t) => {
    const { primary, standby, proxy } = await startPair(t)
    const store = await openPostgresRecords({ url: proxy.url(), retryForMs: DEADLINE_MS })
    t.after(() => store.close())
    const load = startLoad(store, 8)
    await until(() => load.done.length > 25, DEADLINE_MS)
    await primary.kill()
    // For a while the proxy forwards to a standby, which rejects writes.
    const statementsBefore = proxy.statements
    proxy.target = standby.port
    await until(() => proxy.statements > statementsBefore + 6, DEADLINE_MS)
    const doneBefore = load.done.length
    await standby.query('select pg_promote()')
    await until(() => load.done.length > doneBefore + 25, DEADLINE_MS)
    const done = await load.stop()
    assert.ok(done.length > 50, `only ${done.length} commits`)
    await assertSteps(store, done)
  })

  it('a commit whose wait for the standby is cancelled is not acknowledged until the standby has it', async (t) => {
    const { primary, standby, proxy } = await startPair(t)
    const { logger, lines } = recordingLogger()
    const store = await connectRecords({ url: proxy.url(), logger, resolveForMs: DEADLINE_MS })
    t.after(() => store.close())
    const [earlier, cancelled] = [stepOf('earlier'), stepOf('cancelled')]
    assert.ok((await store.commit(earlier)).ok)
    await standby.kill()
    let isAcknowledged = false
    const commit = store.commit(cancelled).finally(() => (isAcknowledged = true))
    const waiting = `select pid from pg_stat_activity where wait_event = 'SyncRep' and query = 'commit'`
    const waitingPids = async () => (await primary.query(waiting)).map(({ pid }) => pid)
    await until(async () => (await waitingPids()).length > 0, DEADLINE_MS)
    const [cancelledPid] = await waitingPids()
    // The server now responds COMMIT with a warning, and the store looks for the outcome, which waits for the standby
    // as well.
    await primary.query('select pg_cancel_backend($1)', [cancelledPid])
    await until(async () => (await waitingPids()).some((pid) => pid !== cancelledPid), DEADLINE_MS)
    assert.equal(isAcknowledged, false)
    await standby.restart()
    assert.ok((await commit).ok)
    assert.match(String(lines.findLast((line) => 'reason' in line)?.['reason']), /synchronous replication/)
    await primary.kill()
    await standby.query('select pg_promote()')
    proxy.target = standby.port
    await assertSteps(store, [earlier, cancelled])
  })
})

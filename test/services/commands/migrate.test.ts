import assert from 'node:assert/strict'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  FileSignedHead,
  openLocalBlobs,
  openOrCreateCheckpointKeys,
  readOrCreateSecret,
} from '../../../adapters/files/index.ts'
import { openLevelRecords } from '../../../adapters/level/index.ts'
import { openPostgresRecords } from '../../../adapters/postgres/index.ts'
import { openRegistry, OPERATOR, type RecordStore } from '../../../core/index.ts'
import { keys } from '../../../core/store/keys.ts'
import { createSealer, InlineEngine } from '../../../sealer/index.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { PostgresServer } from '../../support/postgres-server.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { ofSuite } from '../../support/of-suite.ts'

const scope = { companyId: 'acme', principal: OPERATOR }
const CATEGORY = { category: { name: 'Tools' }, subcategory: { name: 'Drills' } }

/** Opens a registry with these records and the other parts of the data directory, creates evidences, and closes it. */
async function fill(directory: string, records: RecordStore, ids: readonly string[]): Promise<void> {
  const registry = await openRegistry({
    records,
    blobs: await openLocalBlobs(join(directory, 'blobs')),
    signedHead: new FileSignedHead(join(directory, 'signed-head.json')),
    secret: await readOrCreateSecret(join(directory, 'secret')),
    checkpointSigner: await openOrCreateCheckpointKeys(join(directory, 'checkpoint-keys.json')),
    sealer: createSealer({ engine: new InlineEngine() }),
  })
  if ((await records.get([keys.company('acme')]))[0] === undefined)
    await registry.sourceSystems.create(scope, { name: 'warehouse' })
  for (const externalId of ids) await registry.evidences.create(scope, { ...CATEGORY, externalId, name: externalId })
  await registry.sealNow()
  await registry.close()
}

const recordsOf = (directory: string): string => join(directory, 'records')
const COUNT = 300

describe('evidence-registry migrate', () => {
  const server = ofSuite(() => PostgresServer.start())

  it('copies a registry to PostgreSQL and back, only into an empty store', async (t) => {
    const directory = await temporaryFor(t)
    const ids = Array.from({ length: COUNT }, (_, n) => `drill-${n}`)
    await fill(directory, await openLevelRecords(recordsOf(directory)), ids)
    const url = server().url().replace('postgres@', 'postgres:geheim@')
    const there = await ends(
      0,
      runCli(['migrate', '--from', `level:${directory}`, '--to', 'postgres'], {
        EVIDENCE_POSTGRES_URL: url,
      }),
    )
    assert.match(there.stdout, /^301 log entries and \d+ records copied$/m)
    assert.match(
      there.stdout,
      /^301 log entries, 300 events and \d+ index records checked in the target: nothing differs$/m,
    )

    const rejected = await ends(2, runCli(['migrate', '--from', 'level', '--to', url, '--data-dir', directory]))
    assert.match(rejected.stderr, /holds an interrupted copy, or another registry/)
    await fill(directory, await openPostgresRecords({ url: server().url() }), ['later-1', 'later-2'])

    const back = await temporaryFor(t)
    const file = join(back, 'url')
    await writeFile(file, `${url}\n`)
    const home = await ends(0, runCli(['migrate', '--from-file', file, '--to', `level:${back}`]))
    assert.match(home.stdout, /^303 log entries, 302 events and/m)
    for (const { stdout, stderr } of [there, rejected, home]) assert.ok(!(stdout + stderr).includes('geheim'))

    const [database, files] = [
      await openPostgresRecords({ url: server().url() }),
      await openLevelRecords(recordsOf(back)),
    ]
    const [counted] = await database.get([keys.evidenceCount(['company', 'acme'])])
    assert.deepEqual(await files.readLog(0, 400), await database.readLog(0, 400))
    await database.close()
    // With the same secret and signed head, as if the data directory had been moved.
    await fill(directory, files, ['last'])
    const reopened = await openLevelRecords(recordsOf(back))
    const [recounted] = await reopened.get([keys.evidenceCount(['company', 'acme'])])
    await reopened.close()
    assert.deepEqual([counted?.value.at(-1), recounted?.value.at(-1)], [302 & 255, 303 & 255])
    await copyFile(join(directory, 'signed-head.json'), join(back, 'signed-head.json'))
    await ends(0, runCli(['fsck', '--data-dir', back, '--skip-files', '--secret-file', join(directory, 'secret')]))
  })

  it('keeps servers and fsck from a store that is not complete', async (t) => {
    const directory = await temporaryFor(t)
    const records = await openLevelRecords(recordsOf(directory))
    await records.commit({ writes: [{ key: keys.filling(), value: new Uint8Array([1]) }] })
    await records.close()
    for (const command of ['fsck', '--port=0']) {
      const { stderr } = await ends(2, runCli([command, `--data-dir=${directory}`]))
      assert.match(stderr, /unfinished copy/)
    }
  })
})

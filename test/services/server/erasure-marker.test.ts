import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  assertNoneReadable,
  callAt,
  eraseMarks,
  holdsMark,
  MARKED_LINE,
  markedFiles,
  writeMarks,
  type Call,
} from '../../support/erasure-marker.ts'
import { eventually } from '../../support/eventually.ts'
import { moduleUrl, nodeFlags } from '../../support/repository.ts'
import { OPERATOR_ENV, RunningRegistry } from '../../support/running-registry.ts'
import { ends, runCli, ServerProcess } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'

const KEY = OPERATOR_ENV.EVIDENCE_OPERATOR_KEY
const callOf = ({ url }: { readonly url: string }): Call => callAt(url, KEY)

describe('a mark in every text of an evidence', () => {
  it('is in no file, backup or output of a server after its erasure', async (t) => {
    const first = await RunningRegistry.start(t)
    const { directory } = first
    const marked = await writeMarks(callOf(first))
    await first.server.stop()
    assert.ok((await markedFiles(directory)).some((file) => file.startsWith('blobs/')))
    const lines = join(await temporaryFor(t), 'lines')
    await writeFile(lines, JSON.stringify(MARKED_LINE))
    await ends(0, runCli(['import', '--company', 'acme', '--data-dir', directory, lines], OPERATOR_ENV))

    const second = await RunningRegistry.start(t, directory)
    const call = callOf(second)
    const params = { EVIDENCE_EXTERNAL_ID: MARKED_LINE.externalId }
    assert.equal((await call('eraseEvidence', { params, json: { content: true, reason: 'court' } })).status, 200)
    await assertNoneReadable(call, marked)
    const backup = join(await temporaryFor(t), 'backup')
    await ends(0, second.backup(backup))
    assert.deepEqual(await markedFiles(backup), [])
    await second.server.stop()
    for (const { server } of [first, second]) assert.ok(!holdsMark(server.output), server.output)
    await ends(0, runCli(['rewrite', '--data-dir', directory], OPERATOR_ENV))
    assert.deepEqual(await markedFiles(directory), [])
  })

  it('goes on after it was killed between the commit of an erasure and the deletion of its files', async (t) => {
    const first = await RunningRegistry.start(t)
    const { directory } = first
    const marked = await writeMarks(callOf(first))
    await first.server.stop()
    const STOP_AT = JSON.stringify({ call: 'unlink', pattern: 'blobs/content/', nth: 1, when: 'before' })
    const preload = ['--import', moduleUrl('test/faults/kill/stop-at.ts').href]
    const killed = new ServerProcess(directory, { ...OPERATOR_ENV, STOP_AT }, [], [...nodeFlags, ...preload])
    t.after(() => killed.stop('SIGKILL'))
    await assert.rejects(eraseMarks(callAt(await killed.ready(), KEY), marked.slice(0, 1)))
    await killed.ended()
    assert.ok((await markedFiles(join(directory, 'blobs'))).length > 0)

    const call = callOf(await RunningRegistry.start(t, directory))
    await eraseMarks(call, marked)
    await eventually(async () => (await markedFiles(join(directory, 'blobs'))).length === 0)
    assert.ok(!holdsMark((await call('getEvidence', { params: { EVIDENCE_EXTERNAL_ID: 'form' } })).text))
  })
})

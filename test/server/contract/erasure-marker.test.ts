import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { PLACES } from '../../../core/registry/erasure/places.ts'
import { CompanyRequests } from '../../support/company-requests.ts'
import { assertNoneReadable, callAt, holdsMark, writeMarks } from '../../support/erasure-marker.ts'
import { recordingLogger } from '../../support/recording-logger.ts'
import { entriesOf } from '../../support/whole-store.ts'

describe('a mark in every text of an evidence', () => {
  const { logger, lines } = recordingLogger()
  const acme = new CompanyRequests({ logger })

  it('is in no record, file, response, log line or metric after its erasure', async () => {
    const { records, blobs, url } = acme.service
    const call = callAt(url, acme.company.keys.A)
    const markedKeys = async (): Promise<readonly string[]> =>
      (await entriesOf(records)).filter(({ key, value }) => holdsMark(key) || holdsMark(value)).map(({ key }) => key)
    const marked = await writeMarks(call)
    const families = new Set((await markedKeys()).map((key) => key.slice(0, key.indexOf('/'))))
    assert.deepEqual(
      [...families].filter((family) => !PLACES.has(family)),
      [],
      'families that `PLACES` lacks',
    )
    assert.ok(families.has('ev') && families.has('wo'), 'the search finds values and keys')
    assert.equal(blobs.kept.size, marked.flatMap(({ fileIds }) => fileIds).length)

    await assertNoneReadable(call, marked)
    assert.deepEqual(await markedKeys(), [])
    for (const payload of await records.readPayloads(0, await records.logSize())) assert.ok(!holdsMark(payload))
    assert.deepEqual([...blobs.kept], [])
    const all = { depth: null, maxArrayLength: null, maxStringLength: null }
    for (const line of lines) assert.ok(!holdsMark(inspect(line, all)), inspect(line, all))
    assert.ok(lines.some(({ route }) => String(route).includes('EXTERNAL_ID')))
    assert.ok(!holdsMark(await acme.service.metrics()))
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { formOf } from '../../support/form.ts'
import { MULTIPART, part, RawRequest } from '../../support/raw-http.ts'
import { startService } from '../../support/service.ts'

/** Only ends a test that hangs. */
const HANG_MS = 300_000
const KEYS = 10
/** With ten keys, more than the queue of uploads admits. */
const FORMS_PER_KEY = 26
/** Requests of one company in a minute. The honest one stays below it. */
const RATE = 300

it('ten keys of one company and strangers leave another its places, bytes and rate', async (t) => {
  const loadLimits = { maxWaitMs: HANG_MS, bodyBytes: 16 * 1024 * 1024 }
  const service = await startService({ sealMaxWaitMs: 3_600_000, loadLimits, rateLimitPerMinute: RATE })
  const open: RawRequest[] = []
  t.after(async () => {
    for (const request of open) request.disconnect()
    await service.close()
  })
  const [evil, honest] = [await service.company('evil'), await service.company('honest')]
  const operator = { companyId: evil.id, principal: { kind: 'operator' } } as const
  const keys = Array.from({ length: KEYS }, (_, i) => `key-${i}-of-the-hostile-company`)
  for (const apiKey of keys)
    await service.registry.sourceSystems.create(operator, { name: apiKey, apiKey, permissions: 'U' })

  const begin = async (path: string, headers: Readonly<Record<string, string>>, body: string): Promise<void> => {
    const request = new RawRequest(service.port).head('POST', `/api/v1${path}`, {
      'content-length': 900_000,
      ...headers,
    })
    open.push(request)
    await request.send(body)
  }
  const evilPath = `/evidences/${evil.id}/evidence`
  const form = part('images', 'x'.repeat(100), { filename: 'a.bin' }).trimEnd()
  for (let i = 0; i < FORMS_PER_KEY; i++)
    await Promise.all(keys.map((key) => begin(evilPath, { 'x-api-key': key, 'content-type': MULTIPART }, form)))
  await service.until(
    async () => /requests_running\{class="uploads"\} 42\n/.test(await service.metrics()),
    'the hostile company has all places of uploads but one in eight',
  )
  const json = { 'content-type': 'application/json' }
  for (const key of keys) await begin(evilPath, { 'x-api-key': key, ...json }, 'x'.repeat(800_000))
  for (let i = 0; i < 20; i++) await begin('/merkle/validate', json, 'x'.repeat(60_000))

  const honestPath = `/api/v1/evidences/${honest.id}`
  for (let i = 0; i < RATE; i += 50) {
    const guesses = Array.from({ length: 50 }, (_, n) =>
      service.fetch(`${honestPath}/evidences`, { headers: { 'x-api-key': `guessed-key-number-${i + n}` } }),
    )
    for (const { status } of await Promise.all(guesses)) assert.equal(status, 401)
  }

  const of = { key: honest.keys.U, params: { COMPANY_ID: honest.id } }
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      const externalId = `e-${i}`
      const params = { ...of.params, EVIDENCE_EXTERNAL_ID: externalId }
      const fields = { categoryName: 'C', subcategoryName: 'S', externalId, name: 'n' }
      await service.ok('createEvidence', { ...of, form: formOf(fields, [['images', 'a.bin', Buffer.alloc(100_000)]]) })
      await service.ok('updateEvidence', { ...of, params, json: { description: 'x'.repeat(8_000) } })
      const { dt } = await service.ok('listEvidenceFiles', { ...of, params })
      assert.equal((await service.call('downloadFile', { ...of, query: { fileId: dt[0].overlayId } })).status, 200)
      await service.ok('listEvidences', { ...of, query: {} })
      await service.ok('getEvidence', { ...of, params })
    }),
  )
})

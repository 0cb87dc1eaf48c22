import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RegistryError, type BlobStore, type Logger, type RecordStore } from '../../../core/index.ts'
import { decorateBlobs, decorateRecords } from '../../../core/store/decorate.ts'
import { CompanyRequests, VEHICLE_CATEGORY } from '../../support/company-requests.ts'
import { formOf } from '../../support/form.ts'
import type { CallOptions } from '../../support/service.ts'

const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

describe('a log line that the core writes for a request', () => {
  let fails = { put: false, commit: false, delete: false }
  let isMissing = false
  const lines: (readonly [requestId: unknown, traceparent: unknown, text: string])[] = []
  const ignore = (): void => undefined
  const note = ({ requestId, traceparent, err }: Record<string, unknown>, text: string): void =>
    void lines.push([requestId, traceparent, err instanceof Error ? `${text}: ${err.message}` : text])
  const logger: Logger = { debug: ignore, info: ignore, warn: note, error: note }

  const wrapBlobs = (inner: BlobStore): BlobStore =>
    decorateBlobs(inner, {
      get: async (...args) => (isMissing ? undefined : inner.get(...args)),
      put: async (...args) => {
        if (!fails.put) return inner.put(...args)
        fails = { ...fails, commit: true }
        throw new RegistryError('UNAVAILABLE', 'injected')
      },
      delete: async (id) => {
        if (fails.delete) throw new RegistryError('UNAVAILABLE', 'injected')
        return inner.delete(id)
      },
    })

  const wrapRecords = (inner: RecordStore): RecordStore =>
    decorateRecords(inner, {
      async commit(commit) {
        if (fails.commit) throw new RegistryError('UNAVAILABLE', 'injected')
        return inner.commit(commit)
      },
    })
  const acme = new CompanyRequests({ logger, sealMaxWaitMs: 3_600_000, wrapBlobs, wrapRecords })

  const call = (requestId: string, id: string, options: CallOptions) =>
    acme.call(id, { headers: { 'x-request-id': requestId, traceparent: TRACE }, ...options })
  const create = (requestId: string) => {
    const fields = { ...VEHICLE_CATEGORY, externalId: 'e', name: 'x' }
    return call(requestId, 'createEvidence', { form: formOf(fields, [['images', 'a.txt', 'content']]) })
  }
  /** The lines of one request, which must all have its place in the trace. */
  const textsOf = (id: string): string =>
    lines.flatMap(([requestId, trace, text]) => (requestId === id && trace === TRACE ? [text] : [])).join('\n')

  it('has the ids of the request', async () => {
    fails = { ...fails, put: true }
    await create('failing')
    assert.match(textsOf('failing'), /^an unused upload could not be deleted yet/)
    fails = { put: false, commit: false, delete: true }
    await create('first')
    await create('again')
    assert.match(textsOf('again'), /^the bytes of a deleted file could not be destroyed yet/)
    const [{ overlayId: fileId }] = await acme.files('e')
    const query = { fileId }
    isMissing = true
    await call('missing', 'downloadFile', { query })
    assert.match(textsOf('missing'), /^a request failed: The stored bytes of file .* are missing: .* Run fsck$/)
    await call('deleting', 'deleteFile', { query })
    assert.match(textsOf('deleting'), /^the bytes of a deleted file could not be destroyed yet/)
  })
})

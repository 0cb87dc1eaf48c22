import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createReadStream, openAsBlob, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import {
  createClient,
  EvidenceRegistryError,
  type Client,
  type ClientOptions,
  type UploadProgress,
} from '../../../server/client/index.ts'
import { networkReason } from '../../../server/client/network-reason.ts'
import { ROUTES } from '../../../server/client/routes.ts'
import { BASE_PATH } from '../../../server/index.ts'
import { freePort } from '../../support/ports.ts'
import { moduleUrl, nodeFlags, root } from '../../support/repository.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { startService } from '../../support/service.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { arrayOf } from '../../support/array-of.ts'

const withCode = (code: string, status: number) => (error: unknown) =>
  error instanceof EvidenceRegistryError && error.code === code && error.status === status

describe('the client', () => {
  const service = ofSuite(startService)
  const company = ofSuite(() => service().company('acme'))
  let client: Client
  const clientOf = (options: Partial<ClientOptions>): Client =>
    createClient({ baseUrl: `${service().url}${BASE_PATH}/`, companyId: 'acme', ...options })
  before(() => {
    client = clientOf({ apiKey: company().keys.U })
  })

  const golf = { categoryName: 'Vehicles', subcategoryName: 'Cars', name: 'Golf' }

  it('creates, updates, reads and proves', async () => {
    const created = await client.createEvidence({
      ...golf,
      externalId: 'a/b ?#%',
      owner: 'Ada',
      meta: { content: 'x' },
    })
    const { events } = await client.updateEvidence({ externalId: 'a/b ?#%', owner: 'Grace' }, { ifMatch: 1 })
    assert.equal(events[0]?.version, 2)
    const { object } = await client.getEvidence({ externalId: 'a/b ?#%' })
    assert.deepEqual([object.owner, object.meta], ['Grace', { content: 'x' }])
    await service().until(async () => (await client.getProof({ txId: created.txId })).status === 'ok', 'it is sealed')
    const proof = await client.getProof({ txId: created.txId })
    assert.ok(proof.status === 'ok')
    const { txId, merkleRoot, proof: path } = proof
    assert.equal((await client.validateProof({ txId, merkleRoot, proof: path })).valid, path.length > 0)
    assert.match(await client.getCheckpoint(), /^[^\n]+\n\d+\n/)
    assert.equal((await client.livez()).status, 'ok')
  })

  it('has a method for every endpoint of the document, without HEAD and metrics', async () => {
    const document = (await (await service().fetch(`${BASE_PATH}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { readonly operationId?: string }>>
    }
    const operations = Object.values(document.paths).flatMap((item) =>
      Object.entries(item).map(([method, each]) => (method === 'head' ? undefined : each.operationId)),
    )
    const expected = operations.flatMap((id) => (id === undefined || id === 'metrics' ? [] : [id]))
    assert.deepEqual(Object.keys(ROUTES).sort(), expected.sort())
    assert.ok(Object.keys(ROUTES).every((name) => name in client))
  })

  it('sends the key only to endpoints that need one, and never in an address', async () => {
    const requests: { url: string; key: string | undefined; redirect: string | undefined }[] = []
    const key = company().keys.A
    const spy = clientOf({
      apiKey: key,
      fetch: (url, init) => {
        const apiKey = new Headers(init.headers).get('x-api-key') ?? undefined
        requests.push({ url, key: apiKey, redirect: init.redirect })
        return fetch(url, init)
      },
    })
    await spy.checkSourceSystem()
    await spy.livez()
    await assert.rejects(spy.getRoot({ txId: '0'.repeat(64) }), withCode('NOT_FOUND', 404))
    await spy.createEvidence({ ...golf, externalId: 'spied', images: [{ content: 'x' }] })
    const foundKeys = requests.map((request) => request.key)
    assert.deepEqual(foundKeys, [key, undefined, undefined, key])
    // A redirect could lead to another server.
    assert.ok(requests.every(({ url, redirect }) => !url.includes(key) && redirect === 'error'))
    for (const baseUrl of ['http://user:secret@host/api/v1', 'http://host/api/v1?key=1', 'file:///x', 'nonsense'])
      assert.throws(() => createClient({ baseUrl }), TypeError)
  })

  it('shows no secret that cannot be sent in a header', async () => {
    const withoutSecret = { name: 'TypeError', message: /^(?!.*secret)[^]*must not contain a line break/ }
    assert.throws(() => clientOf({ apiKey: 'secret-key-of-acme\n' }), withoutSecret)
    await assert.rejects(client.livez({}, { headers: { Authorization: 'Bearer secret\r\nX: y' } }), withoutSecret)
  })

  it('says which certificate is not accepted', () => {
    const cause = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    assert.match(
      networkReason(new TypeError('fetch failed', { cause })),
      /^its TLS certificate is not accepted, self-signed certificate: .*NODE_EXTRA_CA_CERTS/,
    )
  })

  it('rejects with one error class that has code, status and body', async () => {
    await assert.rejects(client.getEvidence({ externalId: 'missing' }), withCode('EVIDENCE_NOT_FOUND', 404))
    await assert.rejects(client.listSourceSystems(), withCode('FORBIDDEN', 403))
    await assert.rejects(client.createEvidence({ ...golf, externalId: '' }), withCode('VALIDATION_ERROR', 400))
    const stranger = clientOf({ apiKey: 'not-a-key-of-acme' })
    await assert.rejects(stranger.checkSourceSystem(), withCode('UNAUTHORIZED', 401))
    const offline = createClient({ baseUrl: 'http://127.0.0.1:1/api/v1', retry: { retries: 0 } })
    await assert.rejects(offline.livez(), withCode('NETWORK_ERROR', 0))
    const port = await freePort()
    for (const [baseUrl, reason] of [
      [
        `http://127.0.0.1:${port}`,
        new RegExp(`livez: .*connection refused by 127\\.0\\.0\\.1:${port}: check the address`),
      ],
      ['http://127.0.0.1:1', /clients with fetch never connect to this port/],
      ['http://no-such-host.invalid', /the host name no-such-host\.invalid is unknown: check the address/],
      [service().url.replace('http:', 'https:'), /no TLS at this address .* begin it with http:/],
    ] as const)
      await assert.rejects(createClient({ baseUrl, retry: { retries: 0 } }).livez(), reason)
    await assert.rejects(client.verifyEvidence({ evidenceId: 'missing' }), (error: EvidenceRegistryError) => {
      assert.equal((error.body as { status?: string }).status, 'not_found')
      return true
    })
    const noCompany = createClient({ baseUrl: `${service().url}${BASE_PATH}`, apiKey: company().keys.R })
    await assert.rejects(noCompany.listCategories(), /companyId is missing/)
    await assert.rejects(client.getEvidence({ externalId: '..' }), TypeError)
  })

  it('iterates over all evidences and all events, page by page', async () => {
    const { keys } = await service().company('pages')
    await service().fill('pages', 7)
    const pages = clientOf({ companyId: 'pages', apiKey: keys.U })
    const listed = await arrayOf(pages.evidences({ len: 3 }))
    const externalIds = listed.map(({ externalId }) => externalId)
    assert.deepEqual(externalIds, ['e6', 'e5', 'e4', 'e3', 'e2', 'e1', 'e0'])
    for (const owner of ['a', 'b', 'c', 'd']) await pages.updateEvidence({ externalId: 'e0', owner })
    const versions = (await arrayOf(pages.history({ externalId: 'e0', len: 2 }))).map(({ version }) => version)
    assert.deepEqual(versions, [1, 2, 3, 4, 5])
    assert.deepEqual(await arrayOf(pages.evidences({ categoryId: 'unknown' })), [])
    const filtered = await arrayOf(pages.evidences({ externalId: 'e', status: 'active', sort: 'updated', len: 2 }))
    const shownExternalIds = filtered.map(({ externalId }) => externalId)
    assert.deepEqual(shownExternalIds, ['e0', 'e6', 'e5', 'e4', 'e3', 'e2', 'e1'])
  })

  it('streams files from disk, reports the progress, and reads them again', async (t) => {
    const path = join(await temporaryFor(t), 'large.bin')
    const content = Buffer.from(new Uint8Array(700_000).map((_, i) => i * 31))
    await writeFile(path, content)
    const progress: UploadProgress[] = []
    await client.createEvidence(
      {
        ...golf,
        externalId: 'files',
        meta: { wheels: 4 },
        image: new File(['png'], 'the "image".png', { type: 'image/png' }),
        images: [
          { name: 'blob.bin', content: await openAsBlob(path), title: 'From a blob' },
          { name: 'stream.bin', content: () => createReadStream(path) },
        ],
      },
      { onProgress: (each) => progress.push(each) },
    )
    assert.ok(progress.length > 5)
    assert.ok((progress.at(-1)?.sentBytes ?? 0) > 2 * content.length)
    assert.equal(progress[0]?.totalBytes, undefined)
    const { dt } = await client.listEvidenceFiles({ externalId: 'files' })
    assert.deepEqual(dt.map(({ name, title, mimeType }) => `${name}; ${title}; ${mimeType}`).sort(), [
      'blob.bin; From a blob; application/octet-stream',
      'stream.bin; stream; application/octet-stream',
      'the "image".png; the "image"; image/png',
    ])
    for (const { overlayId } of dt.filter(({ name }) => name.endsWith('.bin'))) {
      const response = await client.downloadFile({ fileId: overlayId })
      assert.ok(content.equals(Buffer.from(await response.arrayBuffer())))
    }
    const [file] = dt
    assert.ok(file)
    const { token } = await client.createFileToken({ fileId: file.overlayId })
    const withoutKey = clientOf({})
    const part = await withoutKey.downloadFile({ token }, { headers: { Range: 'bytes=0-1' } })
    assert.deepEqual([part.status, (await part.arrayBuffer()).byteLength], [206, 2])
  })

  it('sends no field that is null, with and without files', async () => {
    // As a serializer writes it. The types do not allow it.
    const nulls = JSON.parse('{ "owner": null, "meta": null }') as object
    await client.createEvidence({ ...golf, externalId: 'null-json', ...nulls })
    await client.createEvidence({ ...golf, externalId: 'null-form', ...nulls, images: [new Blob(['x'])] })
    for (const externalId of ['null-json', 'null-form']) {
      const { object } = await client.getEvidence({ externalId })
      assert.deepEqual([object.owner, object.meta], [undefined, undefined], externalId)
    }
  })

  it('knows the total size of files whose size is known', async () => {
    const progress: UploadProgress[] = []
    const content = new Uint8Array(200_000)
    await client.updateEvidence(
      { externalId: 'files', file: { name: 'bytes.bin', content }, stolen: false, actionType: 'stolen' },
      { onProgress: (each) => progress.push(each) },
    )
    const last = progress.at(-1)
    assert.equal(last?.sentBytes, last?.totalBytes)
  })

  it('ends an upload when its signal aborts, and closes the stream', async () => {
    const abort = new AbortController()
    let isClosed = false
    async function* endless(): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        for (;;) {
          yield new Uint8Array(16_384)
          await new Promise((resolve) => setTimeout(resolve, 1))
        }
      } finally {
        isClosed = true
      }
    }
    const upload = client.createEvidence(
      { ...golf, externalId: 'aborted', images: [{ content: endless() }] },
      { signal: abort.signal, onProgress: ({ sentBytes }) => sentBytes > 100_000 && abort.abort(new Error('enough')) },
    )
    await assert.rejects(upload, /enough/)
    await service().until(() => isClosed, 'the stream is closed')
    await assert.rejects(client.getEvidence({ externalId: 'aborted' }), withCode('EVIDENCE_NOT_FOUND', 404))
    await assert.rejects(client.livez({}, { signal: AbortSignal.abort(new Error('too late')) }), /too late/)
  })

  it('runs the example of its README', async (t) => {
    const readme = readFileSync(join(root, 'server/client/README.md'), 'utf8')
    const [, program = ''] = /```js\n([^]*?)```/.exec(readme) ?? []
    const [, printed = ''] = /It prints\n\n```\n([^]*?)```/.exec(readme) ?? []
    const folder = await temporaryFor(t)
    await writeFile(join(folder, 'golf.jpg'), 'not really a picture')
    const own = moduleUrl('server/client/index.ts').href
    const code = program
      .replace("'evidence-registry/client'", `'${own}'`)
      .replace('http://127.0.0.1:8080', service().url)
    await writeFile(join(folder, 'program.mjs'), code)
    const { stdout } = await promisify(execFile)(process.execPath, [...nodeFlags, 'program.mjs'], {
      cwd: folder,
      env: { ...process.env, EVIDENCE_API_KEY: company().keys.U },
    })
    const pattern = printed.replace(/ad2f…64 digits… pending/, '[0-9a-f]{64} (?:pending|ok)')
    assert.match(stdout, new RegExp(`^${pattern}$`))
  })
})

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { it } from 'node:test'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { BASE_PATH } from '../../../server/index.ts'
import { describeInChromium, openPage } from '../../support/chromium.ts'
import { startService } from '../../support/service.ts'
import { root } from '../../support/repository.ts'
import { ofSuite } from '../../support/of-suite.ts'

const UPLOAD_BYTES = 900_000

/** A page of a server's own origin that has the client as `window.client`. */
async function openClient(browser: Browser, serverUrl: string): Promise<Page> {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'server/client/index.ts')],
    bundle: true,
    format: 'iife',
    globalName: 'client',
    platform: 'browser',
    write: false,
  })
  const page = await openPage(browser)
  await page.route('**/page', (route) =>
    route.fulfill({ contentType: 'text/html', body: `<script>${outputFiles[0]?.text}</script>` }),
  )
  await page.goto(`${serverUrl}/page`)
  return page
}

describeInChromium('the client in Chromium', (browser) => {
  const service = ofSuite(startService)

  it('uploads with progress, repeats, aborts and reads', async () => {
    const { keys } = await service().company('acme')
    const page = await openClient(browser(), service().url)
    const options = { baseUrl: `${service().url}${BASE_PATH}`, companyId: 'acme', apiKey: keys.U }
    // Runs in the page. As a text, because a compiled function could refer to what is not there.
    const script = `async ({ options, bytes }) => {
      const registry = client.createClient(options)
      const content = new Blob([new Uint8Array(bytes)])
      const progress = []
      const evidence = { categoryName: 'C', subcategoryName: 'S', name: 'E' }
      const created = await registry.createEvidence(
        { ...evidence, externalId: 'e', images: [{ name: 'a.bin', content, title: 'A' }, new File(['b'], 'b.txt')] },
        { onProgress: (each) => progress.push(each) },
      )
      const plain = await registry.updateEvidence({ externalId: 'e', file: { name: 'c.txt', content: 'c' } })
      const abort = new AbortController()
      const aborted = await registry
        .createEvidence(
          { ...evidence, externalId: 'f', images: [{ content }] },
          { signal: abort.signal, onProgress: () => abort.abort(new Error('enough')) },
        )
        .catch((error) => error.message)
      const events = []
      for await (const { version } of registry.history({ externalId: 'e' })) events.push(version)
      const files = await registry.listEvidenceFiles({ externalId: 'e' })
      const { overlayId } = files.dt.find(({ name }) => name === 'a.bin')
      const { size } = await (await registry.downloadFile({ fileId: overlayId })).blob()
      const again = { ...evidence, externalId: 'e', images: [new Blob(['x'])] }
      const refused = await registry.createEvidence(again, { onProgress() {} })
        .catch(({ name, code, status }) => [name, code, status])
      const titles = files.dt.map(({ title }) => title).sort()
      return { created, plain, progress, aborted, events, titles, size, refused }
    }`
    const result = (await page.evaluate(`(${script})(${JSON.stringify({ options, bytes: UPLOAD_BYTES })})`)) as {
      readonly progress: readonly { readonly sentBytes: number; readonly totalBytes: number }[]
    } & Record<string, unknown>
    const last = result.progress.at(-1)
    assert.ok(last !== undefined && last.sentBytes > UPLOAD_BYTES && last.sentBytes === last.totalBytes)
    assert.deepEqual(result['titles'], ['A', 'b', 'c'])
    assert.deepEqual(result['events'], [1, 2])
    assert.equal(result['aborted'], 'enough')
    assert.equal(result['size'], UPLOAD_BYTES)
    assert.deepEqual(result['refused'], ['EvidenceRegistryError', 'EXTERNAL_ID_EXISTS', 409])
  })

  it('does not follow a redirect, or finds it afterwards if the progress is observed', async (t) => {
    let arrived = 0
    const redirecting = createServer((request, response) => {
      request.resume().on('end', () => {
        const isMoved = request.url === '/moved'
        if (isMoved) arrived += 1
        response.writeHead(
          isMoved ? 200 : 308,
          isMoved ? { 'Content-Type': 'application/json' } : { Location: '/moved' },
        )
        response.end(isMoved ? '{}' : '')
      })
    })
    await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve))
    t.after(() => redirecting.close())
    const url = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`
    const page = await openClient(browser(), url)
    const options = { baseUrl: `${url}${BASE_PATH}`, companyId: 'acme', apiKey: 'a-key', retry: { firstPauseMs: 1 } }
    for (const [onProgress, expected] of [
      ['undefined', { code: 'NETWORK_ERROR', status: 0, arrived: 0 }],
      ['() => {}', { code: 'INVALID_RESPONSE', status: 200, arrived: 1 }],
    ] as const) {
      const evidence =
        "{ categoryName: 'C', subcategoryName: 'S', externalId: 'e', name: 'E', images: [new Blob(['x'])] }"
      const script = `client.createClient(${JSON.stringify(options)})
        .createEvidence(${evidence}, { onProgress: ${onProgress} })
        .catch(({ code, status }) => ({ code, status }))`
      const result = (await page.evaluate(script)) as { readonly code: string; readonly status: number }
      assert.deepEqual({ ...result, arrived }, expected)
    }
  })
})

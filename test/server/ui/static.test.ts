import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { promises } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { describe, it, type TestContext } from 'node:test'
import zlib, { gzipSync } from 'node:zlib'
import { ofSuite } from '../../support/of-suite.ts'
import { startService, type Service } from '../../support/service.ts'

/** Of everything that the first page loads, compressed. */
const MAX_FIRST_PAGE_BYTES = 100_000

describe('the files of the dashboard', () => {
  const service = ofSuite(startService)

  const filesOf = (html: string): readonly string[] =>
    [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, path]) => path ?? '')

  it('are one page without inline scripts or requests to other servers', async () => {
    const page = await service().fetch('/ui/')
    const html = await page.text()
    assert.equal(page.status, 200)
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    const policy = page.headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
    assert.doesNotMatch(policy, /unsafe/)
    assert.doesNotMatch(html, /<script(?![^>]* src=)|(?:src|href)="(?:https?:)?\/\/|<style|\sstyle=/)
    assert.equal(page.headers.get('cache-control'), 'no-cache')
    // For links and codes, also if the page was opened at another address.
    assert.match(html, /<meta name="public-url" content="https:\/\/evidence\.example" \/>/)
    // For files that are too large, before they are sent.
    assert.match(html, /<meta name="max-file-bytes" content="1048576" \/>/)
  })

  it('name the licences of what they contain', async () => {
    const licences = await service().fetch('/ui/licenses.txt')
    assert.equal(licences.headers.get('content-type'), 'text/plain; charset=utf-8')
    const saved = await (await service().fetch('/ui/verify.html')).text()
    for (const text of [await licences.text(), saved])
      for (const name of ['preact', '@noble/curves', 'pkijs', 'asn1js', 'Permission is hereby granted'])
        assert.ok(text.includes(name), name)
  })

  it('have names with hashes, which caches may keep', async () => {
    const paths = filesOf(await (await service().fetch('/ui/')).text())
    assert.ok(paths.length >= 2)
    for (const path of paths) {
      const file = await service().fetch(`/ui/${path}`)
      assert.equal(file.status, 200)
      assert.equal(file.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.ok((await file.text()).length > 0)
    }
  })

  it(`load less than ${MAX_FIRST_PAGE_BYTES} bytes for the first page`, async () => {
    const html = await (await service().fetch('/ui/')).text()
    const files = filesOf(html).map(async (path) => (await service().fetch(`/ui/${path}`)).arrayBuffer())
    const sizes = (await Promise.all(files)).map((file) => gzipSync(new Uint8Array(file)).length)
    const totalBytes = sizes.reduce((sum, size) => sum + size, gzipSync(html).length)
    assert.ok(totalBytes < MAX_FIRST_PAGE_BYTES, `${totalBytes} bytes`)
  })

  it('are revalidated and compressed', async () => {
    const page = await service().fetch('/ui/', { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(page.headers.get('content-encoding'), 'gzip')
    const headers = { 'if-none-match': page.headers.get('etag') ?? '' }
    assert.equal((await service().fetch('/ui/', { headers })).status, 304)
    const plain = await service().fetch('/ui/', { headers: { 'accept-encoding': 'identity' } })
    assert.equal(plain.headers.get('content-encoding'), null)
  })

  it('include the verification page as a download, whose policy allows only its own script and style', async () => {
    const page = await service().fetch('/ui/verify.html')
    assert.equal(page.headers.get('content-disposition'), 'attachment; filename="verify.html"')
    const html = await page.text()
    const [, policy = ''] = /<meta http-equiv="Content-Security-Policy" content="([^"]+)">/.exec(html) ?? []
    const hashOf = (element: 'script' | 'style'): string => {
      const [, text = ''] = new RegExp(`<${element}[^>]*>([^]*?)</${element}>`).exec(html) ?? []
      return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    }
    assert.match(policy, /^default-src 'none'; /)
    assert.doesNotMatch(policy, /unsafe|'self'|https?:/)
    for (const element of ['script', 'style'] as const)
      assert.ok(policy.includes(`${element}-src ${hashOf(element)};`), element)
  })

  it('are the only files that are served', async () => {
    for (const path of ['/ui/nothing.js', '/ui/..%2Fmain.js', '/ui/%2e%2e/main.js', '/ui/assets/', '/ui/README.md'])
      assert.equal((await service().fetch(path)).status, 404, path)
    const redirect = await service().fetch('/ui', { redirect: 'manual' })
    assert.deepEqual([redirect.status, redirect.headers.get('location')], [302, 'ui/'])
  })
})

describe('the first request for a file of the dashboard', () => {
  /** Makes the modules under test use what was replaced, until the test ends. */
  const useReplaced = (t: TestContext): void => {
    syncBuiltinESMExports()
    t.after(() => {
      t.mock.restoreAll()
      syncBuiltinESMExports()
    })
  }
  const withService = async (test: (service: Service) => Promise<void>): Promise<void> => {
    const service = await startService()
    try {
      await test(service)
    } finally {
      await service.close()
    }
  }

  it('does not compress on the event loop', (t) =>
    withService(async (service) => {
      const synchronous = t.mock.method(zlib, 'gzipSync')
      useReplaced(t)
      const textOf = async (encoding: string): Promise<string> => {
        const response = await service.fetch('/ui/verify.html', { headers: { 'accept-encoding': encoding } })
        assert.equal(response.headers.get('content-encoding'), encoding === 'gzip' ? 'gzip' : null)
        return response.text()
      }
      const [compressed, plain] = await Promise.all([textOf('gzip'), textOf('identity')])
      assert.ok(plain.length > 100_000 && compressed === plain)
      assert.equal(synchronous.mock.callCount(), 0)
    }))

  it('may fail: the next one reads the files again', (t) =>
    withService(async (service) => {
      const failure = Object.assign(new Error('too many open files'), { code: 'EMFILE' })
      const readdir = t.mock.method(promises, 'readdir', () => Promise.reject(failure))
      useReplaced(t)
      assert.equal((await service.fetch('/ui/')).status, 500)
      readdir.mock.restore()
      syncBuiltinESMExports()
      assert.equal((await service.fetch('/ui/')).status, 200)
    }))
})

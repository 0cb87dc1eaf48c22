import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import type { Bundle } from '../../../core/api/bundle.ts'
import { createNoteSigner } from '../../../core/log/note.ts'
import { parsePolicy, verifyBundle } from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import { openBundleRegistry } from '../../support/bundle-fixture.ts'
import { mutate, randomFrom } from '../../support/bundle-mutations.ts'
import { chromiumIsMissing, launchChromium, openPage } from '../../support/chromium.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'
import { buildWebVerifier, type WebFiles } from '../../support/web-verifier.ts'

const KIB = 1024
const MAX_BYTES = 20 * KIB
const MAX_BYTES_WITH_TOKENS = 130 * KIB

describe('the verifier for browsers', () => {
  let files: WebFiles
  before(async () => {
    files = await buildWebVerifier()
  })

  const sizeOf = (names: readonly string[]): number =>
    files.outputFiles
      .filter(({ path }) => names.includes(basename(path)))
      .reduce((size, { contents }) => size + gzipSync(contents, { level: 9 }).length, 0)

  /** The files that a page loads at once: the entry, and what it imports. */
  function initialFiles(): readonly string[] {
    const outputs = Object.entries(files.metafile.outputs)
    const importsOf = (name: string): readonly string[] =>
      (outputs.find(([path]) => basename(path) === name)?.[1].imports ?? [])
        .filter(({ kind }) => kind === 'import-statement')
        .map(({ path }) => basename(path))
    const names = new Set(['page.js'])
    for (const name of names) for (const next of importsOf(name)) names.add(next)
    return [...names]
  }

  it('imports nothing of Node', () => {
    const external = Object.values(files.metafile.outputs).flatMap(({ imports }) => imports)
    assert.deepEqual(
      external.filter((each) => each.external === true),
      [],
    )
    assert.deepEqual(
      Object.keys(files.metafile.inputs).filter((path) => path.endsWith('node.js')),
      [],
    )
  })

  it('has at most 20 KiB with gzip, and 130 KiB with the token checks', () => {
    const names = files.outputFiles.map(({ path }) => basename(path))
    const [initial, all] = [sizeOf(initialFiles()), sizeOf(names)]
    assert.ok(initial > 10 * KIB && initial <= MAX_BYTES, `${initial} bytes`)
    assert.ok(all > initial && all <= MAX_BYTES_WITH_TOKENS, `${all} bytes`)
  })

  it('loads ASN.1 libraries only with the token checks', () => {
    const initial = initialFiles()
    for (const [path, { inputs }] of Object.entries(files.metafile.outputs))
      if (initial.includes(basename(path)))
        assert.deepEqual(
          Object.keys(inputs).filter((name) => /pkijs|asn1js|@noble/.test(name)),
          [],
        )
  })
})

/** Not HTTPS, so the page has no WebCrypto. */
const ADDRESS = 'http://verifier.test'

/** Results hold maps, which JSON does not have. */
const withMaps = (_: string, value: unknown): unknown => (value instanceof Map ? { map: [...value] } : value)

async function openVerifier(browser: Browser): Promise<{ page: Page; requested: string[] }> {
  const { outputFiles } = await buildWebVerifier()
  const page = await openPage(browser)
  const requested: string[] = []
  await page.route(`${ADDRESS}/**`, (route) => {
    const name = basename(new URL(route.request().url()).pathname)
    requested.push(name)
    const file = outputFiles.find(({ path }) => basename(path) === name)
    return file === undefined
      ? route.fulfill({ contentType: 'text/html', body: '<script type="module" src="/page.js"></script>' })
      : route.fulfill({ contentType: 'text/javascript', body: file.text })
  })
  await page.goto(`${ADDRESS}/`)
  await page.waitForFunction('globalThis.verify !== undefined')
  return { page, requested }
}

const verifyIn = (page: Page, text: string, policy?: string): Promise<unknown> =>
  page.evaluate(
    `verify(...${JSON.stringify([text, policy])}).then((result) => JSON.parse(JSON.stringify(result, ${withMaps.toString()})))`,
  )

const verifyHere = (text: string, policy?: string): unknown =>
  JSON.parse(
    JSON.stringify(
      verifyBundle(text, { tokens, ...(policy !== undefined && { policy: parsePolicy(policy) }) }),
      withMaps,
    ),
  )

describe('the verifier in Chromium', { skip: chromiumIsMissing }, () => {
  let directory: string
  let browser: Browser
  let bundles: { readonly plain: Bundle; readonly stamped: Bundle; readonly chained: Bundle; readonly pending: Bundle }
  let policy: string
  let chainPolicy: string
  before(async () => {
    directory = await makeTemporary()
    browser = await launchChromium()
    const registry = await openBundleRegistry({ directory })
    await registry.evidence({ owner: 'Ada', files: [await registry.stage('é 水 💡')] })
    await registry.settle()
    const stamped = await registry.history()
    await registry.evidence({ externalId: 'e-2' })
    const pending = await registry.history('all', 'all', 'e-2')
    policy = JSON.stringify(await registry.registry.log.policy())
    await registry.close()
    const chain = await openBundleRegistry({ directory: `${directory}/evm`, anchor: 'evm', authorities: [] })
    await chain.evidence()
    await chain.settle()
    const chained = await chain.history()
    chainPolicy = JSON.stringify(await chain.registry.log.policy())
    await chain.close()
    const plain = { ...stamped, checkpoints: stamped.checkpoints.map((each) => ({ ...each, tokens: [] })) }
    bundles = { plain, stamped, chained, pending }
  })
  after(async () => {
    await browser.close()
    await removeTemporary(directory)
  })

  it('loads the token checks only for a bundle with tokens', async () => {
    const { page, requested } = await openVerifier(browser)
    assert.equal(await page.evaluate('isSecureContext'), false)
    const loaded = requested.length
    assert.deepEqual(
      await verifyIn(page, JSON.stringify(bundles.plain), policy),
      verifyHere(JSON.stringify(bundles.plain), policy),
    )
    assert.equal(requested.length, loaded)
    await verifyIn(page, JSON.stringify(bundles.stamped), policy)
    assert.ok(requested.length > loaded)
    await page.close()
  })

  it('returns what Node returns: proven, refuted, unpinned and pending', async () => {
    const { page } = await openVerifier(browser)
    const stamped = JSON.stringify(bundles.stamped)
    const [token = ''] = bundles.stamped.checkpoints.flatMap((checkpoint) => checkpoint.tokens)
    const cases: readonly (readonly [string, string, string | undefined])[] = [
      ['proven', stamped, policy],
      ['proven', JSON.stringify(bundles.chained), chainPolicy],
      ['unpinned', stamped, undefined],
      ['pending', JSON.stringify(bundles.pending), policy],
      ['refuted', stamped.replace('Ada', 'Eve'), policy],
      ['refuted', stamped.replace(token, `${token.slice(0, -8)}AAAAAAA=`), policy],
      [
        'refuted',
        stamped,
        JSON.stringify({ keys: [{ vkey: createNoteSigner('other', new Uint8Array(32)).verifierKey }] }),
      ],
      ['refuted', 'not JSON', policy],
    ]
    for (const [state, text, pinned] of cases) {
      const result = await verifyIn(page, text, pinned)
      assert.equal((result as { state: unknown }).state, state, JSON.stringify(result))
      assert.deepEqual(result, verifyHere(text, pinned))
    }
    await page.close()
  })

  it('returns what Node returns for changed bundles', async () => {
    const { page } = await openVerifier(browser)
    const random = randomFrom(7)
    for (let i = 0; i < 200; i++) {
      const text = mutate(random, [bundles.stamped])
      assert.deepEqual(await verifyIn(page, text, policy), verifyHere(text, policy), `mutation ${i}: ${text}`)
    }
    await page.close()
  })
})

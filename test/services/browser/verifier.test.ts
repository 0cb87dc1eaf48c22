import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { before, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { Bundle } from '../../../core/schemas/bundle.ts'
import { createNoteSigner } from '../../../core/log/note.ts'
import { parsePolicy, verifyBundle } from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import { openBundleRegistry } from '../../support/bundle-fixture.ts'
import { mutate, randomFrom } from '../../support/bundle-mutations.ts'
import { describeInChromium, openPage } from '../../support/chromium.ts'
import { eventually } from '../../support/eventually.ts'
import { buildWebVerifier } from '../../support/web-verifier.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

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
  await eventually(() => page.evaluate<boolean>('globalThis.verify !== undefined'))
  return { page, requested }
}

const verifyIn = (page: Page, text: string, policy?: string): Promise<unknown> =>
  page.evaluate(
    `verify(...${JSON.stringify([text, policy])})
      .then((result) => JSON.parse(JSON.stringify(result, ${withMaps.toString()})))`,
  )

const verifyHere = (text: string, policy?: string): unknown =>
  JSON.parse(
    JSON.stringify(
      verifyBundle(text, { tokens, ...(policy !== undefined && { policy: parsePolicy(policy) }) }),
      withMaps,
    ),
  )

describeInChromium('the verifier in Chromium', (browser) => {
  const directory = temporaryOfSuite()
  let bundles: { readonly plain: Bundle; readonly stamped: Bundle; readonly chained: Bundle; readonly pending: Bundle }
  let policy: string
  let chainPolicy: string
  before(async () => {
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

  it('loads the token checks only for a bundle with tokens', async () => {
    const { page, requested } = await openVerifier(browser())
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

  it('returns what Node returns: proven, refuted, consistent and pending', async () => {
    const { page } = await openVerifier(browser())
    const stamped = JSON.stringify(bundles.stamped)
    const [token = ''] = bundles.stamped.checkpoints.flatMap((checkpoint) => checkpoint.tokens)
    const cases: readonly (readonly [string, string, string | undefined])[] = [
      ['proven', stamped, policy],
      ['proven', JSON.stringify(bundles.chained), chainPolicy],
      ['consistent', stamped, undefined],
      ['pending', JSON.stringify(bundles.pending), policy],
      ['refuted', stamped.replace('Ada', 'Eve'), policy],
      // A token that does not hold counts as little as none.
      ['proven', stamped.replace(token, `${token.slice(0, -8)}AAAAAAA=`), policy],
      [
        'other-log',
        stamped,
        JSON.stringify({ keys: [{ vkey: createNoteSigner('other', new Uint8Array(32)).verifierKey }] }),
      ],
      ['unreadable', 'not JSON', policy],
    ]
    for (const [state, text, pinned] of cases) {
      const result = await verifyIn(page, text, pinned)
      assert.equal((result as { state: unknown }).state, state, JSON.stringify(result))
      assert.deepEqual(result, verifyHere(text, pinned))
    }
    await page.close()
  })

  it('returns what Node returns for changed bundles', async () => {
    const { page } = await openVerifier(browser())
    const random = randomFrom(7)
    for (let i = 0; i < 60; i++) {
      const text = mutate(random, [bundles.stamped])
      assert.deepEqual(await verifyIn(page, text, policy), verifyHere(text, policy), `mutation ${i}: ${text}`)
    }
    await page.close()
  })
})

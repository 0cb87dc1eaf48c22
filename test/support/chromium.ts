import { existsSync } from 'node:fs'
import { after, before, describe } from 'node:test'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { present } from './present.ts'

/** Without windows and their own pages, so that a new page costs a fifth of the CPU time. */
const CHROMIUM = '/usr/bin/chromium-headless-shell'
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
/** Only ends a page that hangs: a slow machine must not fail a test. */
const TIMEOUT_MS = 300_000

/** For the option `skip` of a suite: why it cannot run, or `false`. */
const chromiumIsMissing = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`

/** The suites of this process that still need the browser. */
let suites = 0
let shared: Promise<Browser> | undefined

/** A suite of tests in Chromium, which the suites of a process share. The last of them closes it. */
export function describeInChromium(title: string, define: (browser: () => Browser) => void): void {
  describe(title, { skip: chromiumIsMissing }, () => {
    let browser: Browser | undefined
    suites += 1
    before(async () => {
      shared ??= chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: TIMEOUT_MS })
      browser = await shared
    })
    define(() => present(browser))
    after(async () => {
      suites -= 1
      if (suites > 0) return
      shared = undefined
      await browser?.close()
    })
  })
}

/** Opens a page in a context of its own, with the time limit for everything that it and its tabs wait for. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage(options)
  page.context().setDefaultTimeout(TIMEOUT_MS)
  return page
}

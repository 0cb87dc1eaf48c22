import { existsSync } from 'node:fs'
import { after } from 'node:test'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'

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
export const chromiumIsMissing = existsSync(CHROMIUM) ? false : `${CHROMIUM} is missing`

/** The suites of this process that still need the browser. */
let suites = 0
let shared: Promise<Browser> | undefined

/** To be called in a `describe`. The suites of a process share one browser, which the last of them closes. */
export function useChromium(): () => Promise<Browser> {
  suites += 1
  after(async () => {
    suites -= 1
    if (suites > 0) return
    const browser = await shared
    shared = undefined
    await browser?.close()
  })
  return () => (shared ??= chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: TIMEOUT_MS }))
}

/** Opens a page in a context of its own, with the time limit for everything that the page waits for. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage(options)
  page.setDefaultTimeout(TIMEOUT_MS)
  return page
}

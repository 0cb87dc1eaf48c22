import assert from 'node:assert/strict'
import { mkdir, readFile, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import type { Registry } from '../../../core/index.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { introduceOperator, welcome, welcomeBack } from '../../../server/startup/first-start.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { filesBelow, temporaryFor } from '../../support/temporary.ts'

it('sets no key without a terminal before a file contains it', async (t) => {
  const dataDir = await temporaryFor(t)
  const config = loadConfig({ args: ['--data-dir', dataDir, '--tsa', 'none', '--anchor', 'none'], env: {} })
  const { registry } = await openConfiguredRegistry(config, silentLogger)
  t.after(() => registry.close())
  const start = () => introduceOperator({ registry, logger: silentLogger, dataDir, url: 'http://127.0.0.1:8080' })
  const path = join(dataDir, 'operator.key')
  await mkdir(path)
  await assert.rejects(start(), { code: 'CONFIG_ERROR' })
  await rmdir(path)
  await start()
  const apiKey = (await readFile(path, 'utf8')).trim()
  const principal = await registry.sourceSystems.authenticate({ companyId: 'acme', apiKey, address: '' })
  assert.equal(principal?.kind, 'operator')
})

it('leaves no file with a key if another server was faster to set one', async (t) => {
  const dataDir = await temporaryFor(t)
  const sourceSystems = { hasOperatorKey: () => false, setOperatorKey: async () => false }
  const registry = { sourceSystems, status: () => ({ writesRefused: null }) } as unknown as Registry
  await introduceOperator({ registry, logger: silentLogger, dataDir, url: 'http://127.0.0.1:8080' })
  assert.deepEqual(await filesBelow(dataDir), [])
})

it('shows a person the addresses, the key once, and four commands', () => {
  const text = welcome({ url: 'http://127.0.0.1:8080', operatorKey: 'the-operator-key' })
  assert.match(text, / http:\/\/127\.0\.0\.1:8080\/docs$/m)
  assert.match(text, / http:\/\/127\.0\.0\.1:8080\/ui\/#\/sign-in\?company=demo$/m)
  const lines = text.split('\n').filter((line) => line.includes('curl '))
  assert.equal(lines.length, 4)
  assert.ok(lines.every((line) => line.includes(String.raw`-w '\n'`)))
  assert.match(lines[3] ?? '', /^until .*merkle\/verify\/car-1 \| grep .*; do sleep 1; done$/)
  assert.equal(text.split('\n').filter((line) => line.trim() === 'the-operator-key').length, 1)
  const system = /"apiKey":"([^"]+)"/.exec(lines[0] ?? '')?.[1] ?? ''
  assert.ok(
    system.length >= 16 && lines[1]?.includes(system) && lines[2]?.includes(system) && !lines[3]?.includes(system),
  )
})

it('says at a later start where to sign in, and with which key', () => {
  const text = welcomeBack('http://127.0.0.1:8080')
  assert.match(text, / http:\/\/127\.0\.0\.1:8080\/ui\/$/m)
  assert.match(text, /^Evidence Registry \d+\.\d+\.\d+ .*/m)
  assert.match(text, /operator key/)
})

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { BlobStore } from '../../../adapters/kit/index.ts'
import { OPERATOR } from '../../../core/index.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { openModule } from '../../../server/startup/own-module.ts'
import { blobStoreContract, durableBlobStoreContract } from '../../contract/index.ts'
import { addEvidence, openDirectory } from '../../support/configured-registry.ts'
import { eventually } from '../../support/eventually.ts'
import { root } from '../../support/repository.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { makeTemporary, removeTemporary, temporaryFor } from '../../support/temporary.ts'

/** The module that adapters/README.md shows, below this folder, so that the package's own entries resolve. */
const folder = mkdtempSync(join(import.meta.dirname, 'example-'))
after(() => rmSync(folder, { recursive: true }))
const [, section = ''] = readFileSync(join(root, 'adapters/README.md'), 'utf8').split('### A module for the server')
const [, code] = /```js\n([^]*?)```/.exec(section) ?? []
assert.ok(code, 'adapters/README.md has no example')
const example = join(folder, 'mirrored-files.mjs')
writeFileSync(example, code)

interface Example {
  readonly default: (context: object) => Promise<BlobStore>
}

const openExample = async () => {
  const { default: open } = (await import(pathToFileURL(example).href)) as Example
  const dataDir = await makeTemporary()
  const context = { logger: silentLogger, dataDir }
  return { store: await open(context), reopen: () => open(context), dispose: () => removeTemporary(dataDir) }
}

blobStoreContract('the example of a module', openExample)
durableBlobStoreContract('the example of a module', openExample)

describe('an adapter of the operator', () => {
  it('keeps the files of a server, and is backed up and restored by its port', async (t) => {
    const directory = await temporaryFor(t)
    const env = { EVIDENCE_BLOBS: example }
    const { registry } = await openDirectory(directory, env)
    t.after(() => registry.close())
    await registry.sourceSystems.create({ companyId: 'acme', principal: OPERATOR }, { name: 'first' })
    const file = await addEvidence(registry, 'a')
    await registry.sealNow()
    await registry.close()
    for (const name of ['mirrored', 'mirror'])
      assert.ok(
        readdirSync(join(directory, name), { recursive: true }).some((path) => String(path).includes(file)),
        name,
      )
    const [to, restored] = [await temporaryFor(t), await temporaryFor(t)]
    for (const args of [
      ['fsck', '--data-dir', directory],
      ['backup', '--to', to, '--data-dir', directory],
      ['restore', '--from', to, '--data-dir', restored, '--head', join(directory, 'signed-head.json')],
    ]) {
      await ends(0, runCli(args, env))
    }
    assert.ok(readdirSync(join(restored, 'mirror'), { recursive: true }).some((path) => String(path).includes(file)))
  })

  it('can be the records, the authority and the anchor', async (t) => {
    const open = (name: string, body: string): string => {
      const path = join(folder, `${name}.mjs`)
      writeFileSync(path, body)
      return path
    }
    const opener = (kind: string, name: string): string =>
      `import { ${name} as open } from 'evidence-registry/adapters/${kind}'
       export default ({ dataDir }) => open(dataDir + '/my-${kind}')`
    const directory = await temporaryFor(t)
    const records = open(
      'records',
      `import { MemoryRecords } from 'evidence-registry/adapters/memory'
       export default () => new MemoryRecords()`,
    )
    const { registry, anchor } = await openDirectory(directory, {
      EVIDENCE_RECORDS: records,
      EVIDENCE_TSA: open('tsa', opener('local-tsa', 'openLocalTsa')),
      EVIDENCE_ANCHOR: open('anchor', opener('local-ledger', 'openLocalLedger')),
      EVIDENCE_TSA_INTERVAL_MS: '0',
    })
    t.after(() => registry.close())
    await registry.sourceSystems.create({ companyId: 'acme', principal: OPERATOR }, { name: 'first' })
    await addEvidence(registry, 'a')
    await registry.sealNow()
    await eventually(async () => registry.status().stampedSize > 0)
    assert.equal(anchor?.info.type, 'local')
    // A store that bears only one process is not opened a second time.
    const { stdout } = await runCli(['config', 'check', '--data-dir', directory], { EVIDENCE_RECORDS: records })
    assert.match(stdout, /ok {6}records \(.*records\.mjs\): a running server has them open/)
  })

  it('is refused with what to do about it', async (t: TestContext) => {
    const dataDir = await temporaryFor(t)
    for (const [text, expected, errorCode] of [
      [undefined, /^EVIDENCE_BLOBS: the module \/.*\.mjs does not exist: correct the path/, 'CONFIG_ERROR'],
      ['export const open = 1', /must have a function as its default export: export default/, 'CONFIG_ERROR'],
      ['import "no-such-package"', /cannot be loaded: .*no-such-package.*install what it imports/, 'CONFIG_ERROR'],
      [
        'export default () => ({ put() {}, close() {} })',
        /return an object with get, delete, marker: adapters/,
        'CONFIG_ERROR',
      ],
      ['export default () => undefined', /return an object with put, get, delete, close, marker/, 'CONFIG_ERROR'],
      ['export default () => { throw new Error("no disk") }', /failed: no disk\. Repair/, 'UNAVAILABLE'],
    ] as const) {
      const path = join(folder, `${text?.length}.mjs`)
      if (text !== undefined) writeFileSync(path, text)
      const config = loadConfig({ args: ['--blobs', path, '--data-dir', dataDir], env: {} })
      await assert.rejects(openModule('blobs', config, silentLogger), { code: errorCode, message: expected })
    }
  })

  it('is named by a path; other words are still refused', () => {
    for (const flag of ['--records', '--blobs', '--tsa', '--anchor']) {
      assert.ok(loadConfig({ args: [flag, './mine.mjs'], env: {} }), flag)
      assert.throws(() => loadConfig({ args: [flag, 'mine'], env: {} }), /or the path of a module such as/, flag)
    }
  })
})

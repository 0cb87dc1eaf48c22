import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, describe, it, mock, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { withBlobErrors, withRecordErrors, type BlobStore } from '../../../adapters/kit/index.ts'
import { MemoryBlobs, MemoryRecords } from '../../../adapters/memory/index.ts'
import { OPERATOR } from '../../../core/index.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { openModule } from '../../../server/startup/own-module.ts'
import { blobStoreContract, checkpointSignerContract, durableBlobStoreContract } from '../../contract/index.ts'
import { addEvidence, openDirectory } from '../../support/configured-registry.ts'
import { eventually } from '../../support/eventually.ts'
import { root } from '../../support/repository.ts'
import { runCli, ends } from '../../support/server-process.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { makeTemporary, removeTemporary, temporaryFor } from '../../support/temporary.ts'

/** The module that adapters/README.md shows, below this folder, so that the package's own entries resolve. */
const folder = mkdtempSync(join(import.meta.dirname, 'example-'))
after(() => rmSync(folder, { recursive: true }))

/** Writes the example of a section of adapters/README.md. */
function writeExample(heading: string, name: string): string {
  const [, section = ''] = readFileSync(join(root, 'adapters/README.md'), 'utf8').split(`### ${heading}\n`)
  const [, code] = /```js\n([^]*?)```/.exec(section) ?? []
  assert.ok(code, `adapters/README.md has no example below ${heading}`)
  writeFileSync(join(folder, name), code)
  return join(folder, name)
}
const example = writeExample('A module for the server', 'mirrored-files.mjs')

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

/** A client of AWS KMS whose keys follow from their ids. The file `mode` beside it says how it fails. */
const FAKE_KMS = `
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'

export const GetPublicKeyCommand = class { constructor(input) { this.input = input } }
export const SignCommand = class extends GetPublicKeyCommand {}
export class KMSClient {
  async send({ input, constructor }, { abortSignal }) {
    const mode = readFileSync(new URL('mode', import.meta.url), 'utf8')
    if (mode === 'unavailable') throw new Error('KMSInternalException')
    if (mode === 'slow') await new Promise((resolve) => abortSignal.aborted ? resolve() : abortSignal.onabort = resolve)
    abortSignal.throwIfAborted()
    const seed = createHash('sha256').update(input.KeyId).digest()
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    if (constructor === GetPublicKeyCommand)
      return { PublicKey: new Uint8Array(createPublicKey(key).export({ format: 'der', type: 'spki' })) }
    if (input.SigningAlgorithm + input.MessageType !== 'ED25519_SHA_512RAW') throw new Error('ValidationException')
    return { Signature: new Uint8Array(sign(null, input.Message, key)) }
  }
}`
const kms = writeExample('Checkpoint keys in AWS KMS', 'kms-keys.mjs')
const client = join(folder, 'node_modules/@aws-sdk/client-kms')
mkdirSync(client, { recursive: true })
writeFileSync(join(client, 'package.json'), '{ "type": "module", "exports": "./index.js" }')
writeFileSync(join(client, 'index.js'), FAKE_KMS)
const setMode = (mode: '' | 'unavailable' | 'slow'): void => writeFileSync(join(client, 'mode'), mode)
setMode('')

checkpointSignerContract('AWS KMS, by the example of a module', async () => {
  const dataDir = await makeTemporary()
  const addKey = (): void => writeFileSync(join(dataDir, 'kms-keys.txt'), `${randomUUID()}\n`, { flag: 'a' })
  addKey()
  const config = loadConfig({ args: ['--checkpoint-keys', kms, '--data-dir', dataDir], env: {} })
  return {
    signer: await openModule('checkpointKeys', config, silentLogger),
    addKey: async () => addKey(),
    interrupt: async (mode) => {
      setMode(mode)
      // The time is over.
      mock.method(AbortSignal, 'timeout', () => AbortSignal.abort())
    },
    dispose: async () => {
      setMode('')
      mock.restoreAll()
      await removeTemporary(dataDir)
    },
  }
})

describe('checkpoint keys of a module', () => {
  it('sign for a server, rotate, and are in no keyring and no backup', async (t) => {
    const [directory, to] = [await temporaryFor(t), await temporaryFor(t)]
    const ids = join(directory, 'kms-keys.txt')
    writeFileSync(ids, 'key-1\n')
    const env = { EVIDENCE_CHECKPOINT_KEYS: kms }
    const { registry } = await openDirectory(directory, env)
    t.after(() => registry.close())
    await registry.sourceSystems.create({ companyId: 'acme', principal: OPERATOR }, { name: 'first' })
    await registry.sealNow()
    writeFileSync(ids, 'key-1\nkey-2\n')
    await registry.checkpointKeys.rotate()
    await addEvidence(registry, 'a')
    await registry.sealNow()
    const states = (await registry.checkpointKeys.list()).map(({ state }) => state)
    assert.deepEqual(states, ['retired', 'current'])
    setMode('unavailable')
    await addEvidence(registry, 'b')
    await assert.rejects(registry.sealNow(), { code: 'UNAVAILABLE', message: 'KMSInternalException' })
    setMode('')
    await registry.sealNow()
    await registry.close()
    const passphrase = join(await temporaryFor(t), 'passphrase')
    writeFileSync(passphrase, 'a passphrase')
    const secrets = ['--secrets', '--passphrase-file', passphrase]
    for (const command of [['fsck'], ['config', 'check'], ['backup', '--to', to, ...secrets]])
      await ends(0, runCli([...command, '--data-dir', directory], env))
    const { stderr } = await ends(2, runCli(['keys', 'generate', '--data-dir', directory], env))
    assert.match(stderr, /A module has the checkpoint keys: make the new key where it keeps them/)
    assert.ok(!readdirSync(directory).includes('checkpoint-keys.json'))
  })
})

describe('the errors of a store of others', () => {
  const failure = new Error('no disk')
  const fails = (): Promise<never> => Promise.reject(failure)
  const failing = { get: fails, commit: fails, put: fails }

  it('have a code, and are the cause; those of a body and of an abort stay', async () => {
    const list = () => Readable.from([fails()])
    const records = withRecordErrors(Object.assign(new MemoryRecords(), failing, { list }))
    const unavailable = { code: 'UNAVAILABLE', message: 'no disk', cause: failure }
    await assert.rejects(records.get(['a']), unavailable)
    await assert.rejects(async () => {
      for await (const each of records.list({ gte: 'a', lt: 'b' })) assert.fail(each.key)
    }, unavailable)
    await assert.rejects(records.commit({}), { code: 'UNKNOWN_OUTCOME', cause: failure })
    const blobs = withBlobErrors(Object.assign(new MemoryBlobs(), failing))
    await assert.rejects(blobs.get('a'), unavailable)
    await assert.rejects(blobs.get('a', undefined, AbortSignal.abort()), (error) => error === failure)
    await assert.rejects(blobs.put('a', Readable.from([]), { maxBytes: 1 }), (error) => error === failure)
  })
})

// Own process: changes the working directory.
import { createHash, createPublicKey, randomBytes, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, describe, it, type TestContext } from 'node:test'
import { encryptKeystoreJson } from 'ethers/wallet'
import { Type } from 'typebox'
import { accountOfPrivateKey, weiOf } from '../../adapters/evm/index.ts'
import { readOrCreateSecret } from '../../adapters/files/index.ts'
import { openLocalLedger } from '../../adapters/local-ledger/index.ts'
import { openLocalTsa } from '../../adapters/local-tsa/index.ts'
import { MemoryBlobs, MemoryCheckpointKeys, MemoryRecords, MemorySignedHead } from '../../adapters/memory/index.ts'
import * as core from '../../core/index.ts'
import { parseCheckpoint, verifyCheckpoint } from '../../core/log/index.ts'
import { keys } from '../../core/store/keys.ts'
import { readCount } from '../../core/store/counter.ts'
import { listEntries } from '../../core/store/read.ts'

import { certificatesFromPem } from '../../core/verify/policy.ts'
import { MemorySlots } from '../../core/verify/slot-set.ts'
import { tokens } from '../../core/verify/tokens.ts'
import { createSealer } from '../../sealer/index.ts'
import { createApp } from '../../server/index.ts'
import { createClient, EvidenceRegistryError } from '../../server/client/index.ts'
import { openBundleRegistry, type BundleRegistry } from '../support/bundle-fixture.ts'
import { examples, needsService, runExample, type Example } from '../support/examples.ts'
import { FakeNode } from '../support/fake-node.ts'
import { logSourceOf } from '../support/log-source.ts'
import { moduleUrl } from '../support/repository.ts'
import { startService, type Company, type Service } from '../support/service.ts'
import { makeTemporary, removeTemporary } from '../support/temporary.ts'
import { wireEvents } from '../support/wire-event.ts'

type Names = Readonly<Record<string, unknown>>

/** What examples import without showing it: from Node and from other files of the package. */
const IMPORTS: Names = {
  createPublicKey,
  createReadStream,
  createWriteStream,
  readFile,
  writeFile,
  pipeline,
  keys,
  listEntries,
  readCount,
  tokens,
  verifyCheckpoint,
  certificatesFromPem,
  MemorySlots,
  accountOfPrivateKey,
  weiOf,
  createSealer,
  openLocalTsa,
  createApp,
  ...core,
}
const EXTERNAL_ID = 'VIN-1'
const PASSWORD = 'a password'
const EVIDENCE = { externalId: EXTERNAL_ID, name: 'Golf', categoryName: 'Vehicles', subcategoryName: 'Cars' }

describe('the examples of the docstrings', () => {
  const home = process.cwd()
  let directory: string
  let registry: BundleRegistry
  let service: Service
  let company: Company
  let node: FakeNode
  before(async () => {
    directory = await makeTemporary()
    registry = await openBundleRegistry({ directory: join(directory, 'registry'), anchor: 'evm' })
    await registry.evidence({ externalId: EXTERNAL_ID, owner: 'Ada' })
    await registry.settle()
    await registry.rotate()
    service = await startService()
    company = await service.company('acme')
    node = await FakeNode.start()
    node.results = { ...node.results, eth_chainId: '0x1' }
  })
  after(async () => {
    process.chdir(home)
    await Promise.all([registry.close(), service.close(), node.stop()])
    await removeTemporary(directory)
  })

  /** Makes a working directory with the files that examples read. */
  async function enterFolder(): Promise<void> {
    const folder = join(directory, randomUUID())
    await mkdir(join(folder, 'data'), { recursive: true })
    process.chdir(folder)
    await readOrCreateSecret('data/secret')
    await openLocalTsa('data/tsa')
    await (await openLocalLedger('data/ledger')).close()
    const privateKey = randomBytes(32).toString('hex')
    const wallet = { address: (await accountOfPrivateKey(privateKey)).address, privateKey: `0x${privateKey}` }
    const bundle = await registry.history('all', 'all', EXTERNAL_ID)
    const files: Readonly<Record<string, string | Uint8Array>> = {
      'VIN-1.evidence.json': JSON.stringify(bundle),
      'VIN-1.tlog-proof': (await registry.registry.proofs.tlogProof(bundle.subject.txId)) ?? '',
      'policy.json': JSON.stringify(await registry.registry.log.policy()),
      'settings.json': '{"port":8080}',
      'front.jpg': 'a photo',
      'tsa-ca.pem': await readFile('data/tsa/ca.pem'),
      'evm.key': privateKey,
      'keystore.json': await encryptKeystoreJson(wallet, PASSWORD, { scrypt: { N: 1024 } }),
      passphrase: 'a passphrase',
    }
    for (const [name, content] of Object.entries(files)) await writeFile(name, content)
  }

  const stores = (): Names => ({
    records: new MemoryRecords(),
    blobs: new MemoryBlobs(),
    signedHead: new MemorySignedHead(),
    checkpointSigner: new MemoryCheckpointKeys(),
    secret: new Uint8Array(randomBytes(32)),
  })

  function givenToClient(): Names {
    const apiKey = company.keys.U
    const client = createClient({ baseUrl: `${service.url}/api/v1`, companyId: company.id, apiKey })
    return { registry: client, apiKey, evidence: EVIDENCE, EvidenceRegistryError }
  }

  async function givenToServer(t: TestContext): Promise<Names> {
    return {
      ...stores(),
      registry: registry.registry,
      options: { rateLimitPerMinute: 0 },
      createServer: (handle: RequestListener) => {
        const server = createServer(handle)
        t.after(() => server.close())
        // The port of the example may be in use.
        return { listen: () => server.listen(0) }
      },
    }
  }

  async function givenToVerifier(): Promise<Names> {
    const authority = await openLocalTsa('data/tsa')
    const [bundle, shown] = await Promise.all([
      registry.history('all', 'all', EXTERNAL_ID),
      registry.registry.evidences.get(registry.scope, EXTERNAL_ID, { disclose: true }),
    ])
    const [event] = wireEvents(shown.events)
    const checkpoint = bundle.checkpoints.find(({ anchors }) => anchors.length > 0)
    const [anchor] = checkpoint?.anchors ?? []
    const note = Buffer.from(checkpoint?.note ?? '')
    const policy = await registry.policy()
    const lines = await exportedLines()
    return {
      event,
      receipt: event,
      policy,
      text: JSON.stringify(bundle),
      source: logSourceOf(registry.registry),
      slots: new MemorySlots(),
      state: {},
      note: checkpoint?.note,
      lines,
      verifierKey: policy.keys[0]?.vkey,
      sha256OfAllBeforeTheLastLine: hashOf(lines.slice(0, -1)),
      checkpoint: note,
      response: await authority.stamp(note),
      proof: Buffer.from(anchor?.proof ?? ''),
      txHash: anchor?.txHash,
      blockHash: anchor?.blockHash,
      chainId: anchor?.chainId,
      account: policy.chains?.[0]?.account,
    }
  }

  async function exportedLines(): Promise<readonly string[]> {
    let text = ''
    for await (const part of registry.registry.proofs.exportCompany(registry.scope)) text += part
    return text.split('\n').slice(0, -1)
  }
  const hashOf = (lines: readonly string[]): string =>
    createHash('sha256')
      .update(lines.map((line) => `${line}\n`).join(''))
      .digest('hex')

  async function givenToCore(code: string, t: TestContext): Promise<Names> {
    const { items } = await registry.registry.log.batches({ limit: 1 })
    // An example that creates an evidence needs a company that has none.
    const isNew = code.includes('evidences.create(')
    const { id, apiKey, scope } = await registry.system('U', isNew ? randomUUID() : undefined)
    const { evidence } = await registry.evidences.get(registry.scope, EXTERNAL_ID)
    const head = parseCheckpoint((await registry.registry.log.latestCheckpoint()) ?? '')
    const file = await open('proofs', 'a')
    t.after(() => file.close())
    return {
      records: registry.records,
      blobs: registry.blobs,
      registry: registry.registry,
      scope: isNew ? scope : registry.scope,
      id,
      apiKey,
      newKey: randomUUID(),
      company: registry.scope.companyId,
      owner: evidence.id,
      batchId: items[0]?.id,
      file,
      head,
      signedHead: new MemorySignedHead(),
      Settings: Type.Object({ port: Type.Integer() }),
      value: { port: 8080 },
      start: () => undefined,
    }
  }

  const givenToAdapters = (): Names => ({
    url: node.url,
    privateKey: randomBytes(32).toString('hex'),
    password: PASSWORD,
    stream: Readable.from([Buffer.from('an invoice')]),
  })

  async function givenTo({ path, code }: Example, t: TestContext): Promise<Names> {
    if (path.startsWith('server/client/')) return givenToClient()
    if (path.startsWith('server/')) return givenToServer(t)
    if (path.startsWith('adapters/')) return givenToAdapters()
    return { ...(await givenToCore(code, t)), ...(await givenToVerifier()) }
  }

  for (const example of examples().filter((each) => !needsService(each)))
    it(`${example.path}: ${example.code.trim().split('\n', 1).join()}`, async (t) => {
      await enterFolder()
      t.mock.method(console, 'log', () => undefined)
      const own = (await import(moduleUrl(example.path).href)) as Names
      const code = example.code
        .replaceAll('https://evidence.example', service.url)
        .replaceAll("'/var/lib/evidence", "'data")
        .replaceAll(/'\/(?:etc\/evidence|root)\//g, "'")
      await runExample({ ...example, code }, { ...IMPORTS, ...own, ...(await givenTo(example, t)) })
    })
})

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { encryptKeystoreJson } from 'ethers/wallet'
import { accountOfPrivateKey } from '../../../adapters/evm/index.ts'
import { systemClock } from '../../../core/index.ts'
import { anchorOptions, type AnchorSettings } from '../../../server/startup/anchor.ts'
import { Anvil, CHAIN_ID, freePort, newPrivateKey, temporaryDirectory, withoutAnvil } from '../../support/anvil.ts'
import { Proxy } from '../../support/rpc-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { ServerProcess } from '../../support/server-process.ts'

const OPERATOR_KEY = 'an-operator-key-of-tests'

describe('the server on an EVM chain', { skip: withoutAnvil }, () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>
  let anvil: Anvil
  before(async () => {
    directory = await temporaryDirectory()
    anvil = await Anvil.start()
  })
  after(async () => {
    await anvil.stop()
    await directory.remove()
  })

  it('shows the block and transaction of its anchor as the chain does, and no secret', async (t) => {
    const proxy = await Proxy.start(anvil.url)
    const key = newPrivateKey()
    const { address } = await accountOfPrivateKey(key)
    await anvil.rpc('evm_setAutomine', true)
    const server = new ServerProcess(`${directory.path}/data`, {
      EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
      EVIDENCE_SEAL_MAX_WAIT_MS: '20',
      EVIDENCE_ANCHOR: 'evm',
      // No server listens at the first one.
      EVIDENCE_EVM_RPC_URL: `http://127.0.0.1:${await freePort()}/v2/rpc-secret-1, ${proxy.url}/v2/rpc-secret-2`,
      EVIDENCE_EVM_CHAIN_ID: String(CHAIN_ID),
      EVIDENCE_EVM_PRIVATE_KEY: key,
      EVIDENCE_EVM_CONFIRMATIONS: '1',
    })
    t.after(async () => {
      await server.stop('SIGKILL')
      await proxy.stop()
    })
    const url = await server.ready()
    // An empty account is logged and stops nothing else.
    await create(url)
    await eventually(() => server.output.includes(`The account ${address} holds 0 gwei`))
    await anvil.fund(address)
    const anchor = await eventually(async () => {
      const response = await fetch(`${url}/api/v1/merkle/verify/first`)
      const { merkle } = (await response.json()) as { merkle?: { anchor?: Record<string, unknown> } }
      return merkle?.anchor
    })
    const [transaction] = await anvil.transactionsOf(address)
    const block = await anvil.block(Number(anchor['blockNumber']))
    assert.equal(anchor['type'], 'evm')
    assert.equal(anchor['network'], `eip155:${CHAIN_ID}`)
    assert.equal(anchor['chainId'], CHAIN_ID)
    assert.equal(anchor['txHash'], transaction?.hash)
    assert.equal(anchor['blockHash'], block['hash'])
    assert.equal(anchor['blockTime'], new Date(Number(block['timestamp']) * 1000).toISOString())
    assert.equal(Buffer.from(String(transaction?.input).slice(2), 'hex').toString(), anchor['checkpoint'])
    const metrics = await (await fetch(`${url}/metrics`)).text()
    assert.match(metrics, /evidence_sealer_failures\{step="anchor"\} [1-9]/)
    assert.equal(await server.stop(), 0)
    for (const secret of [key, 'rpc-secret']) assert.ok(!server.output.includes(secret))
  })

  const settings = (change: Partial<AnchorSettings>): AnchorSettings => ({
    anchor: 'evm',
    anchorIntervalMs: undefined,
    evmRpcUrl: [anvil.url],
    evmChainId: CHAIN_ID,
    evmPrivateKey: undefined,
    evmKeystore: undefined,
    evmKeystorePassword: undefined,
    evmConfirmations: 12,
    evmMaxFeeGwei: 100,
    ...change,
  })
  const options = (change: Partial<AnchorSettings>) =>
    anchorOptions(settings(change), `${directory.path}/ledger`, systemClock)

  it('reads the account from a keystore file', async () => {
    const key = newPrivateKey()
    const account = { address: (await accountOfPrivateKey(key)).address, privateKey: `0x${key}` }
    const path = `${directory.path}/keystore.json`
    await writeFile(path, await encryptKeystoreJson(account, 'password', { scrypt: { N: 1024 } }))
    const { anchor, anchorIntervalMs } = await options({ evmKeystore: path, evmKeystorePassword: 'password' })
    assert.equal(anchor?.info.type, 'evm')
    assert.equal(anchorIntervalMs, 600_000)
    await anchor?.close()
  })

  it('names each setting that is missing, wrong or superfluous', async () => {
    const evmPrivateKey = newPrivateKey()
    for (const [change, message] of [
      [{}, /needs either EVIDENCE_EVM_PRIVATE_KEY \(or its _FILE\) or EVIDENCE_EVM_KEYSTORE/],
      [{ evmPrivateKey, evmKeystore: 'k' }, /needs either/],
      [{ evmPrivateKey, evmRpcUrl: undefined }, /needs EVIDENCE_EVM_RPC_URL/],
      [{ evmPrivateKey, evmChainId: undefined }, /needs EVIDENCE_EVM_CHAIN_ID/],
      [{ evmPrivateKey, evmChainId: 1 }, /belongs to chain 31337, but the configured chain id is 1/],
      [{ evmKeystore: `${directory.path}/none` }, /EVIDENCE_EVM_KEYSTORE: the file .*none cannot be read \(ENOENT\)/],
    ] as const)
      await assert.rejects(options(change), { code: 'CONFIG_ERROR', message })
  })

  it('anchors on the local ledger or nowhere without settings of a chain', async () => {
    const local = await options({ anchor: 'local', evmRpcUrl: undefined, evmChainId: undefined })
    assert.deepEqual([local.anchor?.info.type, local.anchorIntervalMs], ['local', 0])
    await local.anchor?.close()
    assert.deepEqual(await options({ anchor: 'none' }), {})
  })
})

async function create(url: string): Promise<void> {
  const post = async (path: string, apiKey: string, body: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(response.status, 201)
    return (await response.json()) as Record<string, unknown>
  }
  const { apiKey } = await post('/sourceSystem/acme', OPERATOR_KEY, { name: 'tests' })
  await post('/evidences/acme/evidence', String(apiKey), {
    externalId: 'first',
    name: 'First',
    categoryName: 'Vehicles',
    subcategoryName: 'Cars',
  })
}

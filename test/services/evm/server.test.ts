import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { accountOfPrivateKey } from '../../../adapters/evm/index.ts'
import { Anvil, CHAIN_ID, GWEI, newPrivateKey, withoutAnvil } from '../../support/anvil.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { ends, runCli, ServerProcess } from '../../support/server-process.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { RunningRegistry } from '../../support/running-registry.ts'

const METRICS_TOKEN = 'a-metrics-token-of-tests'

describe('the server on an EVM chain', { skip: withoutAnvil }, () => {
  const anvil = ofSuite(() => Anvil.start())

  it('shows the block and transaction of its anchor as the chain does, and no secret', async (t) => {
    const key = newPrivateKey()
    const { address } = await accountOfPrivateKey(key)
    await anvil().rpc('evm_setAutomine', true)
    const registry = await RunningRegistry.start(t, undefined, {
      EVIDENCE_METRICS_TOKEN: METRICS_TOKEN,
      EVIDENCE_SEAL_MAX_WAIT_MS: '20',
      EVIDENCE_ANCHOR: 'evm',
      // No server listens at the first one.
      EVIDENCE_EVM_RPC_URL: [
        `http://127.0.0.1:${await freePort()}/v2/rpc-secret-1`,
        anvil().url.replace('//', '//user:rpc-secret-2@'),
      ].join(', '),
      EVIDENCE_EVM_CHAIN_ID: String(CHAIN_ID),
      EVIDENCE_EVM_PRIVATE_KEY: key,
      EVIDENCE_EVM_CONFIRMATIONS: '1',
    })
    const { server, url } = registry
    // An empty account is logged and stops nothing else.
    await registry.create('first')
    await eventually(() => server.output.includes(`The account ${address} holds 0 gwei`))
    await anvil().fund(address)
    const anchor = await eventually(async () => {
      const response = await fetch(`${url}/api/v1/merkle/verify/first`)
      const { merkle } = (await response.json()) as { merkle?: { anchor?: Record<string, unknown> } }
      return merkle?.anchor
    })
    const [transaction] = await anvil().transactionsOf(address)
    const block = await anvil().block(Number(anchor['blockNumber']))
    assert.equal(anchor['type'], 'evm')
    assert.equal(anchor['network'], `eip155:${CHAIN_ID}`)
    assert.equal(anchor['chainId'], CHAIN_ID)
    assert.equal(anchor['txHash'], transaction?.hash)
    assert.equal(anchor['blockHash'], block['hash'])
    assert.equal(anchor['blockTime'], new Date(Number(block['timestamp']) * 1000).toISOString())
    assert.equal(Buffer.from(String(transaction?.input).slice(2), 'hex').toString(), anchor['checkpoint'])
    const metrics = await (
      await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
    ).text()
    assert.match(metrics, /evidence_sealer_failures_total\{step="anchor"\} [1-9]/)
    assert.equal(await server.stop(), 0)
    for (const secret of [key, 'rpc-secret']) assert.ok(!server.output.includes(secret))
  })

  it('anchors although others have used its account, and says so until that is confirmed', async (t) => {
    const key = newPrivateKey()
    const account = await accountOfPrivateKey(key)
    await anvil().rpc('evm_setAutomine', true)
    await anvil().fund(account.address)
    const env = {
      EVIDENCE_METRICS_TOKEN: METRICS_TOKEN,
      EVIDENCE_ANCHOR: 'evm',
      EVIDENCE_EVM_RPC_URL: anvil().url,
      EVIDENCE_EVM_CHAIN_ID: String(CHAIN_ID),
      EVIDENCE_EVM_PRIVATE_KEY: key,
      EVIDENCE_EVM_CONFIRMATIONS: '1',
    }
    const first = await RunningRegistry.start(t, undefined, env)
    await first.create('first')
    await first.anchored('first')
    assert.equal(await first.server.stop(), 0)
    const nonce = (await anvil().transactionsOf(account.address)).length
    const fees = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
    const { raw } = account.sign({ chainId: CHAIN_ID, nonce, gasLimit: 30_000n, input: new Uint8Array(), ...fees })
    await anvil().rpc('eth_sendRawTransaction', `0x${Buffer.from(raw).toString('hex')}`)

    const again = await RunningRegistry.start(t, first.directory, env)
    const alarm = async (): Promise<string | undefined> => {
      const response = await fetch(`${again.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
      return /^evidence_anchor_account_conflict (\d)$/m.exec(await response.text())?.[1]
    }
    await eventually(async () => (await alarm()) === '1')
    await again.create('second')
    await again.anchored('second')
    assert.equal(await alarm(), '1')
    const run = ['adopt', 'transactions', '--data-dir', first.directory]
    const confirmed = await ends(0, runCli(run, env))
    assert.match(confirmed.stdout, new RegExp(`^Confirmed: The account ${account.address} has sent .* nonce ${nonce},`))
    await eventually(async () => (await alarm()) === '0')
    assert.equal((await ends(0, runCli(run, env))).stdout, 'There is nothing to confirm\n')
  })

  it('does not start on another chain than the configured one', async (t) => {
    const server = new ServerProcess(await temporaryFor(t), {
      EVIDENCE_ANCHOR: 'evm',
      EVIDENCE_EVM_RPC_URL: anvil().url,
      EVIDENCE_EVM_CHAIN_ID: '1',
      EVIDENCE_EVM_PRIVATE_KEY: newPrivateKey(),
      EVIDENCE_EVM_MAX_FEE_GWEI: '100',
    })
    t.after(() => server.stop('SIGKILL'))
    assert.equal(await server.ended(), 2)
    assert.match(server.stderr, /belongs to chain 31337, but the configured chain id is 1/)
  })
})

import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { openEvmAnchor, type EvmAnchor, type EvmAnchorOptions } from '../../../adapters/evm/index.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { Anvil, CHAIN_ID, freePort, GWEI, newAccount, withoutAnvil } from '../../support/anvil.ts'
import { Proxy, type Fault } from '../../support/rpc-proxy.ts'

const account = await newAccount()
const checkpoint = new Uint8Array(250).fill(65)

/** Only ends a test that hangs. */
const HANG_MS = 300_000
/** Of the fault that waits for it: much longer than a call takes, because the other node must respond within it. */
const SHORT_LIMIT_MS = 6_000

const open = (rpcUrls: readonly string[], options: Partial<EvmAnchorOptions> = {}): Promise<EvmAnchor> =>
  openEvmAnchor({ rpcUrls, chainId: CHAIN_ID, account, confirmations: 1, maxFeePerGas: 100n * GWEI, ...options })

async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
  } catch (error) {
    assert.ok(isRegistryError(error, 'ANCHOR_FAILED'), String(error))
    return error.message
  }
  return assert.fail('The call did not fail')
}

describe('several nodes of one chain', { skip: withoutAnvil }, () => {
  let anvil: Anvil
  let first: Proxy
  let second: Proxy
  before(async () => {
    anvil = await Anvil.start()
    await anvil.fund(account.address)
    first = await Proxy.start(anvil.url)
    second = await Proxy.start(anvil.url)
  })
  beforeEach(() => {
    for (const proxy of [first, second]) {
      proxy.heal()
      proxy.calls.length = 0
    }
  })
  after(async () => {
    await first.stop()
    await second.stop()
    await anvil.stop()
  })

  async function anchorOnce(anchor: EvmAnchor): Promise<void> {
    const prepared = await anchor.prepare({ checkpoint })
    await anchor.broadcast(prepared.raw)
    await anvil.mine()
    assert.equal((await anchor.status([prepared]))[0]?.state, 'confirmed')
  }

  const faults: Readonly<Record<string, Fault>> = {
    'cuts the connection': 'drop',
    'never responds': 'hang',
    'is over its limit': { status: 429, body: '{"error":"slow down"}' },
    'has an internal error': { status: 502, body: '<html>' },
    'responds with text': { body: 'hello' },
    'responds with incomplete JSON-RPC': { body: '{"jsonrpc":"2.0","id":1}' },
    'responds with another id': { body: '{"jsonrpc":"2.0","id":"x","result":"0x1"}' },
    'redirects elsewhere': { status: 307, headers: { location: 'http://127.0.0.1:1/' }, body: '' },
    'rejects every call': { body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"limit exceeded"}}' },
  }
  for (const [failure, fault] of Object.entries(faults))
    test(`uses the second node if the first ${failure}, and names both reasons if both do`, async () => {
      const anchor = await open([first.url, second.url], { timeoutMs: fault === 'hang' ? SHORT_LIMIT_MS : HANG_MS })
      first.fault = fault
      await anchorOnce(anchor)
      second.fault = fault
      const message = await failureOf(anchor.prepare({ checkpoint }))
      assert.match(message, /^No node can be used\. RPC endpoint 1: .+; RPC endpoint 2: .+/)
      first.heal()
      await anchorOnce(anchor)
      await anchor.close()
    })

  test('can be opened while no node responds', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const anchor = await open([url])
    assert.match(await failureOf(anchor.prepare({ checkpoint })), /RPC endpoint 1: eth_chainId: ECONNREFUSED/)
  })

  test('cannot be opened on another chain, not even if only the second node belongs to it', async () => {
    second.replaceResult('eth_chainId', '0x1')
    for (const [urls, number] of [
      [[second.url], 1],
      [[first.url, second.url], 2],
    ] as const)
      await assert.rejects(open(urls), {
        code: 'CONFIG_ERROR',
        message: `RPC endpoint ${number} belongs to chain 1, but the configured chain id is 31337: correct one of them`,
      })
  })

  test('does not use a node that came back as another chain', async () => {
    const anchor = await open([first.url, second.url])
    first.fault = 'drop'
    await anchorOnce(anchor)
    first.heal()
    first.replaceResult('eth_chainId', '0x1')
    first.replaceResult('eth_getTransactionReceipt', null)
    for (let i = 0; i < 20; i++) await anchorOnce(anchor)
    assert.ok(!first.calls.includes('eth_getTransactionReceipt'))
  })

  test('uses the view of the node with the most blocks', async () => {
    await anvil.mine(5)
    first.replaceResult('eth_blockNumber', '0x2')
    const anchor = await open([first.url, second.url])
    await anchorOnce(anchor)
    assert.ok(!first.calls.includes('eth_getTransactionReceipt'))
    assert.ok(second.calls.includes('eth_getTransactionReceipt'))
  })

  test('settles by depth on a chain without finalized blocks, and rejects the setting finalized there', async () => {
    for (const status of [200, 400]) {
      first.fail('eth_getBlockByNumber', ({ params }) =>
        params[0] === 'finalized'
          ? { status, body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no finalized block"}}' }
          : undefined,
      )
      const anchor = await open([first.url])
      const prepared = await anchor.prepare({ checkpoint })
      await anchor.broadcast(prepared.raw)
      await anvil.mine(127)
      const settled = async (): Promise<unknown> => {
        const [state] = await anchor.status([prepared])
        return state?.state === 'confirmed' && state.settled
      }
      assert.equal(await settled(), false)
      await anvil.mine()
      assert.equal(await settled(), true)
      const waiting = await open([first.url], { confirmations: 'finalized' })
      assert.match(
        await failureOf(waiting.status([prepared])),
        /no finalized block: set the EVM confirmations to a number/,
      )
    }
  })

  test('sends to every node, and needs one that accepts', async () => {
    const anchor = await open([first.url, second.url])
    first.fail('eth_sendRawTransaction', {
      body: '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"pool is full"}}',
    })
    const prepared = await anchor.prepare({ checkpoint })
    await anchor.broadcast(prepared.raw)
    second.fail('eth_sendRawTransaction', 'drop')
    await anchor.broadcast(prepared.raw)
    await anvil.drop(prepared.ref)
    const message = await failureOf(anchor.broadcast(prepared.raw))
    assert.match(
      message,
      /^No node accepted the transaction 0x[0-9a-f]{64}\. RPC endpoint 1: .*pool is full \(-32000\); RPC/,
    )
  })

  test('shows no part of a URL that may be a key in any error', async () => {
    const keys = ['pathsecret123', 'querysecret456', 'usersecret', 'passsecret']
    const { port } = new URL(first.url)
    const url = `http://usersecret:passsecret@127.0.0.1:${port}/v2/pathsecret123?apikey=querysecret456`
    const echo: Fault = ({ method }) => ({
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        error: { code: 1, message: `${method}: ${keys.join(' ')} at ${url}` },
      }),
    })
    const anchor = await open([url, `http://hostsecret789.localhost:${await freePort()}/`])
    assert.deepEqual([...first.authorizations].at(-1), `Basic ${btoa('usersecret:passsecret')}`)
    first.fault = echo
    const shown = [
      await failureOf(anchor.prepare({ checkpoint })),
      await failureOf(anchor.broadcast(new Uint8Array(3))),
    ]
    await assert.rejects(open([`ftp://x/${keys[0]}`]), (error: Error) => {
      shown.push(error.message)
      return isRegistryError(error, 'CONFIG_ERROR')
    })
    for (const text of shown)
      for (const key of [...keys, 'hostsecret789']) assert.ok(!text.includes(key), `${key} in ${text}`)
  })

  test('rejects a response that is too large', async () => {
    const anchor = await open([first.url])
    first.fail('eth_getBlockByNumber', { body: new Uint8Array(65 * 1024 * 1024).fill(32) })
    assert.match(await failureOf(anchor.prepare({ checkpoint })), /larger than 67108864 bytes/)
  })

  test('rejects malformed values', async () => {
    const anchor = await open([first.url])
    for (const [method, result] of [
      ['eth_getBlockByNumber', null],
      ['eth_getBlockByNumber', { number: '0x1', hash: '0x12', timestamp: '0x1' }],
      ['eth_getTransactionCount', '7'],
      ['eth_getTransactionCount', '0xffffffffffffffffff'],
      ['eth_getBalance', 12],
      ['eth_estimateGas', []],
      ['eth_maxPriorityFeePerGas', {}],
    ] as const) {
      first.replaceResult(method, result)
      assert.match(await failureOf(anchor.prepare({ checkpoint })), /The node's .* malformed/)
      first.heal()
    }
    const { number, hash, timestamp } = await anvil.block('latest')
    first.replaceResult('eth_getBlockByNumber', { number, hash, timestamp })
    assert.match(await failureOf(anchor.prepare({ checkpoint })), /does not support EIP-1559/)
  })
})

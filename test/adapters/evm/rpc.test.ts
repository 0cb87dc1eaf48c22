import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { openEvmAnchor, type EvmAnchor, type EvmAnchorOptions } from '../../../adapters/evm/index.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { parseTransaction } from '../../../core/verify/chain/transaction.ts'
import { CHAIN_ID, GWEI, newAccount } from '../../support/anvil.ts'
import { FakeNode, rejection, type Fault } from '../../support/fake-node.ts'
import { freePort } from '../../support/ports.ts'
import { ofSuite } from '../../support/of-suite.ts'

const account = await newAccount()
const checkpoint = new Uint8Array(250).fill(65)

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

describe('several nodes of one chain', () => {
  const first = ofSuite(() => FakeNode.start())
  const second = ofSuite(() => FakeNode.start())
  beforeEach(() => {
    first().heal()
    second().heal()
  })

  const faults: Readonly<Record<string, Fault>> = {
    'cuts the connection': 'drop',
    'is over its limit': { status: 429, body: '{"error":"slow down"}' },
    'has an internal error': { status: 502, body: '<html>' },
    'responds with text': { body: 'hello' },
    'responds with incomplete JSON-RPC': { body: '{"jsonrpc":"2.0","id":1}' },
    'responds with another id': { body: '{"jsonrpc":"2.0","id":"x","result":"0x7a69"}' },
    'redirects elsewhere': { status: 307, headers: { location: 'http://127.0.0.1:1/' }, body: '' },
    'rejects every call': rejection('limit exceeded'),
  }
  for (const [failure, fault] of Object.entries(faults))
    test(`uses the second node if the first ${failure}, and names both reasons if both do`, async () => {
      const anchor = await open([first().url, second().url])
      first().fault = fault
      await anchor.prepare({ checkpoint })
      second().fault = fault
      assert.match(
        await failureOf(anchor.prepare({ checkpoint })),
        /^No node can be used\. RPC endpoint 1: .+; RPC endpoint 2: .+/,
      )
      first().heal()
      await anchor.prepare({ checkpoint })
    })

  test('tries a node that failed after the others, also if only one call failed', async () => {
    const anchor = await open([first().url, second().url])
    first().fail('eth_getBalance', rejection('no state'))
    assert.match(await failureOf(anchor.prepare({ checkpoint })), /RPC endpoint 1: eth_getBalance: no state \(-32000\)/)
    first().heal()
    await anchor.prepare({ checkpoint })
    assert.equal(first().calls.length, 0)
    second().fault = 'drop'
    await anchor.prepare({ checkpoint })
    assert.ok(first().calls.includes('eth_getBalance'))
  })

  test('does not call a node that asks for a pause, and tells how long all of them do', async () => {
    const anchor = await open([first().url, second().url])
    for (const [node, seconds] of [
      [first(), '600'],
      [second(), '60'],
    ] as const)
      node.fault = { status: 429, headers: { 'retry-after': seconds }, body: '' }
    await failureOf(anchor.prepare({ checkpoint }))
    for (const node of [first(), second()]) node.heal()
    await assert.rejects(anchor.prepare({ checkpoint }), (error) => {
      assert.ok(isRegistryError(error, 'ANCHOR_FAILED'))
      assert.match(error.message, /RPC endpoint 1: eth_chainId: asks for no request in the next 600 s; RPC endpoint 2/)
      const { retryAfterMs = 0 } = error
      return retryAfterMs > 0 && retryAfterMs <= 60_000
    })
    assert.deepEqual([first().calls, second().calls], [[], []])
  })

  test('gives up after the time limit', async () => {
    const anchor = await open([first().url], { timeoutMs: 100 })
    first().fault = 'hang'
    assert.match(
      await failureOf(anchor.prepare({ checkpoint })),
      /RPC endpoint 1: eth_chainId: no response after 100 ms/,
    )
  })

  test('can be opened while no node responds', async () => {
    const anchor = await open([`http://127.0.0.1:${await freePort()}`])
    assert.match(await failureOf(anchor.prepare({ checkpoint })), /RPC endpoint 1: eth_chainId: ECONNREFUSED/)
  })

  test('cannot be opened on another chain, not even if only the second node belongs to it', async () => {
    second().change({ eth_chainId: '0x1' })
    for (const [urls, number] of [
      [[second().url], 1],
      [[first().url, second().url], 2],
    ] as const)
      await assert.rejects(open(urls), {
        code: 'CONFIG_ERROR',
        message: `RPC endpoint ${number} belongs to chain 1, but the configured chain id is 31337: correct one of them`,
      })
  })

  test('does not use a node that came back as another chain', async () => {
    const anchor = await open([first().url, second().url])
    first().change({ eth_chainId: '0x1' })
    await anchor.prepare({ checkpoint })
    assert.deepEqual(new Set(first().calls), new Set(['eth_chainId']))
    second().fault = 'drop'
    assert.match(await failureOf(anchor.prepare({ checkpoint })), /RPC endpoint 1 belongs to chain 1, but/)
  })

  test('sends to every node, and needs one that accepts', async () => {
    const anchor = await open([first().url, second().url])
    const { raw } = await anchor.prepare({ checkpoint })
    first().fail('eth_sendRawTransaction', rejection('pool is full'))
    await anchor.broadcast(raw)
    assert.ok(second().calls.includes('eth_sendRawTransaction'))
    second().fail('eth_sendRawTransaction', 'drop')
    assert.match(
      await failureOf(anchor.broadcast(raw)),
      /^No node accepted the transaction 0x[0-9a-f]{64}\. RPC endpoint 1: .*pool is full \(-32000\); RPC/,
    )
    // The node words "already known" in its own way.
    first().change({ eth_getTransactionByHash: {} })
    await anchor.broadcast(raw)
  })

  test('shows no part of a URL that may be a key in any error', async () => {
    const keys = ['pathsecret123', 'querysecret456', 'usersecret', 'passsecret']
    const { port } = new URL(first().url)
    const url = `http://usersecret:passsecret@127.0.0.1:${port}/v2/pathsecret123?apikey=querysecret456`
    const anchor = await open([url, `http://hostsecret789.localhost:${await freePort()}/`])
    assert.deepEqual([...first().authorizations].at(-1), `Basic ${btoa('usersecret:passsecret')}`)
    first().fault = rejection(`${keys.join(' ')} at ${url}`)
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
    // Reading it may take longer than the default on a busy machine.
    const anchor = await open([first().url], { timeoutMs: 600_000 })
    first().fail('eth_getBalance', { body: new Uint8Array(65 * 1024 * 1024).fill(32) })
    assert.match(await failureOf(anchor.prepare({ checkpoint })), /more than 67108864 bytes/)
  })

  test('rejects malformed values', async () => {
    const anchor = await open([first().url])
    for (const [method, result] of [
      ['eth_getBlockByNumber', null],
      ['eth_getBlockByNumber', { number: '0x1', hash: '0x12', timestamp: '0x1' }],
      ['eth_getTransactionCount', '7'],
      ['eth_getTransactionCount', '0xffffffffffffffffff'],
      ['eth_getBalance', 12],
      ['eth_estimateGas', []],
    ] as const) {
      first().heal()
      first().change({ [method]: result })
      assert.match(await failureOf(anchor.prepare({ checkpoint })), /The node's .* malformed/)
    }
    first().heal()
    first().change({ eth_getBlockByNumber: { number: '0x1', hash: `0x${'1'.repeat(64)}`, timestamp: '0x1' } })
    assert.match(await failureOf(anchor.prepare({ checkpoint })), /does not support EIP-1559/)
  })
})

test('a chain without finalized blocks settles by depth, and rejects the setting finalized', async (t) => {
  const node = await FakeNode.start(t)
  const anchor = await open([node.url])
  const prepared = await anchor.prepare({ checkpoint })
  const hash = `0x${'cd'.repeat(32)}`
  node.change({ eth_getTransactionReceipt: { blockNumber: '0x10', blockHash: hash, transactionIndex: '0x0' } })
  for (const status of [200, 400])
    for (const [head, settled] of [
      [0x10 + 126, false],
      [0x10 + 127, true],
    ] as const) {
      const blockAt = (number: string): unknown => ({ number, hash, timestamp: '0x64', transactions: [] })
      node.change({
        eth_getBlockByNumber: (tag: string) =>
          tag === 'finalized'
            ? rejection('no finalized block', -32_000, status)
            : blockAt(tag === 'latest' ? `0x${head.toString(16)}` : tag),
      })
      const [state] = await anchor.status([prepared])
      assert.equal(state?.state === 'confirmed' && state.settled, settled)
    }
  const waiting = await open([node.url], { confirmations: 'finalized' })
  const never = /no finalized block: set the EVM confirmations to a number/
  assert.match(await failureOf(waiting.status([prepared])), never)
  const blockAt = (number: string): unknown => ({ number, hash, timestamp: '0x64', transactions: [] })
  const withHead = (head: string): void =>
    node.change({
      eth_getBlockByNumber: (tag: string) => blockAt(tag === 'finalized' ? '0x0' : tag === 'latest' ? head : tag),
    })
  withHead('0x80')
  assert.match(await failureOf(waiting.status([prepared])), never)
  withHead('0x7f')
  assert.equal((await waiting.status([prepared]))[0]?.state, 'included')
})

test('a node that suggests no tip is asked for what was paid, then for its gas price', async (t) => {
  const node = await FakeNode.start(t)
  const anchor = await open([node.url])
  const tip = async (): Promise<bigint | undefined> =>
    parseTransaction((await anchor.prepare({ checkpoint })).raw)?.maxPriorityFeePerGas
  for (const suggested of [rejection('the method does not exist', -32_601), null, '0x', {}]) {
    node.heal()
    node.change({
      eth_maxPriorityFeePerGas: suggested,
      eth_feeHistory: { reward: [['0x0'], ['0x9'], ['0x3'], ['0x5'], null] },
      eth_gasPrice: '0x1b',
    })
    assert.equal(await tip(), 5n)
    node.change({ eth_feeHistory: { reward: [['0x0']] } })
    assert.equal(await tip(), 0x1bn - 7n)
    node.change({ eth_feeHistory: rejection('the method does not exist', -32_601), eth_gasPrice: '0x6' })
    assert.equal(await tip(), 0n)
    node.change({ eth_gasPrice: null })
    assert.match(await failureOf(anchor.prepare({ checkpoint })), /The node's eth_gasPrice is malformed/)
  }
})

test('a transaction that is not found while its nonce is used is not said to be replaced', async (t) => {
  const node = await FakeNode.start(t)
  const anchor = await open([node.url])
  const prepared = await anchor.prepare({ checkpoint })
  node.change({ eth_getTransactionCount: '0x1' })
  const reason = 'the node does not find the transaction, and its nonce 0 is used'
  assert.deepEqual(await anchor.status([prepared]), [{ state: 'failed', reason }])
})

test('invalid settings throw CONFIG_ERROR', async () => {
  for (const [urls, options] of [
    [[], {}],
    [['nothing'], {}],
    [['http://127.0.0.1:1'], { chainId: 0 }],
    [['http://127.0.0.1:1'], { chainId: 1.5 }],
    [['http://127.0.0.1:1'], { confirmations: 0 }],
    [['http://127.0.0.1:1'], { maxFeePerGas: 0n }],
  ] as const)
    await assert.rejects(open(urls, options), { code: 'CONFIG_ERROR' })
})

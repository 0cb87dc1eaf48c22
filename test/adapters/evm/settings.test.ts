import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEvmAnchor } from '../../../adapters/evm/index.ts'
import { CHAIN_ID, GWEI, newAccount } from '../../support/anvil.ts'

test('invalid settings throw CONFIG_ERROR', async () => {
  const account = await newAccount()
  const url = 'http://127.0.0.1:1'
  for (const [urls, options] of [
    [[], {}],
    [['nothing'], {}],
    [[url], { chainId: 0 }],
    [[url], { chainId: 1.5 }],
    [[url], { confirmations: 0 }],
    [[url], { maxFeePerGas: 0n }],
  ] as const)
    await assert.rejects(
      openEvmAnchor({ rpcUrls: urls, chainId: CHAIN_ID, account, maxFeePerGas: 100n * GWEI, ...options }),
      {
        code: 'CONFIG_ERROR',
      },
    )
})

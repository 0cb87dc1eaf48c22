import { describe } from 'node:test'
import { openEvmAnchor, type EvmAnchor } from '../../../adapters/evm/index.ts'
import { anchorContract } from '../../contract/index.ts'
import { Anvil, CHAIN_ID, GWEI, newAccount, withoutAnvil } from '../../support/anvil.ts'
import { ofSuite } from '../../support/of-suite.ts'

describe('the EVM anchor', { skip: withoutAnvil }, () => {
  const anvil = ofSuite(() => Anvil.start())

  anchorContract('evm', async () => {
    const account = await newAccount()
    await anvil().fund(account.address)
    const required = { rpcUrls: [anvil().url], chainId: CHAIN_ID, account, maxFeePerGas: 100n * GWEI }
    const open = (): Promise<EvmAnchor> => openEvmAnchor({ ...required, confirmations: 3 })
    const anchor = await open()
    let current = anchor
    return {
      anchor,
      mine: () => anvil().mine(),
      reopen: async () => {
        await current.close()
        current = await open()
        return current
      },
      dispose: () => current.close(),
    }
  })
})

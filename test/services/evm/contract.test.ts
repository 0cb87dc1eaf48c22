import { describe } from 'node:test'
import { openEvmAnchor, type EvmAnchor } from '../../../adapters/evm/index.ts'
import { anchorContract } from '../../contract/index.ts'
import { Anvil, CHAIN_ID, GWEI, newAccount, withoutAnvil } from '../../support/anvil.ts'

describe('the EVM anchor', { skip: withoutAnvil }, () => {
  anchorContract('evm', async () => {
    const anvil = await Anvil.start()
    const account = await newAccount()
    await anvil.fund(account.address)
    const open = (): Promise<EvmAnchor> =>
      openEvmAnchor({
        rpcUrls: [anvil.url],
        chainId: CHAIN_ID,
        account,
        confirmations: 3,
        maxFeePerGas: 100n * GWEI,
      })
    const anchor = await open()
    let current = anchor
    return {
      anchor,
      mine: () => anvil.mine(),
      reopen: async () => {
        await current.close()
        current = await open()
        return current
      },
      dispose: async () => {
        await current.close()
        await anvil.stop()
      },
    }
  })
})

import { openLocalLedger } from '../../../adapters/local-ledger/index.ts'
import { anchorContract } from '../../contract/index.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'

anchorContract('local', async () => {
  const directory = await makeTemporary()
  const clock = new ManualClock()
  const anchor = await openLocalLedger(directory, { clock })
  let current = anchor
  return {
    anchor,
    mine: async () => clock.set(clock.now() + 1000),
    reopen: async () => {
      await current.close()
      current = await openLocalLedger(directory, { clock })
      return current
    },
    dispose: async () => {
      await current.close()
      await removeTemporary(directory)
    },
  }
})

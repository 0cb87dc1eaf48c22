import { MemorySignedHead } from '../../../adapters/memory/signed-head.ts'
import { signedHeadKeeperContract } from '../../../adapters/kit/contract/index.ts'

signedHeadKeeperContract('memory', async () => ({ keeper: new MemorySignedHead() }))

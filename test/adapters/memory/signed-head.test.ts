import { MemorySignedHead } from '../../../adapters/memory/signed-head.ts'
import { signedHeadKeeperContract } from '../../contract/signed-head-keeper.ts'

signedHeadKeeperContract('memory', async () => ({ keeper: new MemorySignedHead() }))

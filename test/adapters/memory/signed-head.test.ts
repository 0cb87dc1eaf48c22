import { MemorySignedHead } from '../../../adapters/memory/signed-head.ts'
import { signedHeadKeeperContract } from '../../contract/index.ts'

signedHeadKeeperContract('memory', async () => ({ keeper: new MemorySignedHead() }))

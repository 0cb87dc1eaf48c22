import { MemoryCheckpointKeys } from '../../../adapters/memory/index.ts'
import { checkpointSignerContract } from '../../contract/index.ts'

checkpointSignerContract('memory', async () => {
  const signer = new MemoryCheckpointKeys()
  return { signer, addKey: async () => signer.add() }
})

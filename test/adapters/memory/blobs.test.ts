import { MemoryBlobs } from '../../../adapters/memory/blobs.ts'
import { blobStoreContract } from '../../contract/index.ts'

blobStoreContract('memory', async () => ({ store: new MemoryBlobs() }))

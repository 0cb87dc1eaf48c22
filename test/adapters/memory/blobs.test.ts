import { MemoryBlobs } from '../../../adapters/memory/blobs.ts'
import { blobStoreContract } from '../../contract/blob-store.ts'

blobStoreContract('memory', async () => ({ store: new MemoryBlobs() }))

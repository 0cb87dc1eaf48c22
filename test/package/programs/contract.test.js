// What the author of an adapter writes.
import { MemoryRecords } from 'evidence-registry/adapters/memory'
import { recordStoreContract } from 'evidence-registry/adapter-kit/contract'

recordStoreContract('the memory adapter', async () => ({ store: new MemoryRecords() }), { volatile: true })

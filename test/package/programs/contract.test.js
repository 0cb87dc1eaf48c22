// What the author of an adapter writes.
import { MemoryRecords } from 'evidence-registry/adapters/memory'
import { recordStoreContract } from 'evidence-registry/test/contract/record-store'

recordStoreContract('the memory adapter', async () => ({ store: new MemoryRecords() }), { volatile: true })

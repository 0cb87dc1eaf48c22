import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { recordStoreContract } from '../../../adapters/kit/contract/index.ts'

recordStoreContract('memory', async () => ({ store: new MemoryRecords() }), { volatile: true })

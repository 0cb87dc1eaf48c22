import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { recordSnapshotContract, recordStoreContract } from '../../../adapters/kit/contract/index.ts'

recordStoreContract('memory', async () => ({ store: new MemoryRecords() }), { volatile: true })
recordSnapshotContract('memory', async () => new MemoryRecords())

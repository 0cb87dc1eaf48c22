import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { recordSnapshotContract, recordStoreContract } from '../../contract/index.ts'

recordStoreContract('memory', async () => ({ store: new MemoryRecords() }), { volatile: true })
recordSnapshotContract('memory', async () => new MemoryRecords())

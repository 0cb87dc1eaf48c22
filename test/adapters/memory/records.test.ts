import { MemoryRecords } from '../../../adapters/memory/index.ts'
import { recordStoreContract } from '../../contract/record-store.ts'

recordStoreContract('memory', async () => ({ store: new MemoryRecords() }), { volatile: true })

import type { ControlOperation } from '../operation.ts'
import { backupOperation } from './backup.ts'
import { listKeysOperation } from './list-keys.ts'
import { rotateKeysOperation } from './rotate-keys.ts'
import { sealOperation } from './seal.ts'

/** Everything that a running server does on request of a command. */
export const OPERATIONS: readonly ControlOperation<unknown, unknown>[] = [
  sealOperation,
  listKeysOperation,
  backupOperation,
  rotateKeysOperation,
]

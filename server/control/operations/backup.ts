import { isAbsolute } from 'node:path'
import { RegistryError } from '../../../core/index.ts'
import { createBackup, type BackupReport, type BackupRequest } from '../../backup/create.ts'
import { markedFolders } from '../../startup/registry.ts'
import type { ControlOperation } from '../operation.ts'

/** Backs the registry up. The process that has the registry open writes the backup. */
export const backupOperation: ControlOperation<BackupRequest, BackupReport> = {
  name: 'backup',
  opens: 'read-only',
  parse(args) {
    if (typeof args !== 'object' || args === null || !('to' in args)) throw wrongArguments()
    const { to } = args
    const passphrase = 'passphrase' in args ? args.passphrase : undefined
    if (typeof to !== 'string' || !isAbsolute(to)) throw wrongArguments()
    const takeOver = 'takeOver' in args && args.takeOver === true
    if (passphrase !== undefined && typeof passphrase !== 'string') throw wrongArguments()
    return { to, takeOver, ...(passphrase !== undefined && { passphrase }) }
  },
  run({ registry, stores, config }, request, run) {
    const { dataDir, secretFile, checkpointKeys } = config
    const { used: folders } = markedFolders(config)
    const { origin } = registry.log
    return createBackup({ ...stores, dataDir, secretFile, checkpointKeys, folders, origin }, request, run)
  },
}

const wrongArguments = (): RegistryError =>
  new RegistryError('VALIDATION_ERROR', 'A backup needs the absolute path of its directory')

#!/usr/bin/env node
import type { CommandInput } from './commands/command.ts'

/**
 * The package's command: `evidence-registry COMMAND [flags]` runs one of these, `evidence-registry [flags]` the server.
 */
const COMMANDS: Readonly<Record<string, () => Promise<(input: CommandInput) => Promise<number>>>> = {
  seal: async () => (await import('./commands/seal.ts')).sealCommand,
  keys: async () => (await import('./commands/keys.ts')).keysCommand,
  backup: async () => (await import('./commands/backup.ts')).backupCommand,
  restore: async () => (await import('./commands/restore.ts')).restoreCommand,
  fsck: async () => (await import('./commands/fsck.ts')).fsckCommand,
  import: async () => (await import('./commands/import.ts')).importCommand,
  migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
  verify: async () => (await import('./commands/verify.ts')).verifyCommand,
  'migrate-blobs': async () => (await import('./commands/migrate-blobs.ts')).migrateBlobsCommand,
}

const [, , name = '', ...args] = process.argv
const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
if (load === undefined) await import('./main.ts')
else {
  const run = await load()
  // eslint-disable-next-line node/no-process-env -- only programs read the environment, and pass it on
  process.exitCode = await run({ args, env: process.env })
}

#!/usr/bin/env node
/**
 * The package's command: `evidence-registry [flags]` runs the server, `evidence-registry fsck [flags]` checks a data directory,
 * `evidence-registry migrate [flags]` copies its records from one store to another, `evidence-registry migrate-blobs [flags]` its files.
 */
const [, , command, ...args] = process.argv
if (command === 'fsck') {
  const { fsckCommand } = await import('./commands/fsck.ts')
  process.exitCode = await fsckCommand({ args, env: process.env })
} else if (command === 'migrate') {
  const { migrateCommand } = await import('./commands/migrate.ts')
  process.exitCode = await migrateCommand({ args, env: process.env })
} else if (command === 'migrate-blobs') {
  const { migrateBlobsCommand } = await import('./commands/migrate-blobs.ts')
  process.exitCode = await migrateBlobsCommand({ args, env: process.env })
} else await import('./main.ts')

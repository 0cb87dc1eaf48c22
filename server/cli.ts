#!/usr/bin/env node
/**
 * The package's command: `evidence-registry [flags]` runs the server, `evidence-registry fsck [flags]` checks a data directory,
 * `evidence-registry migrate-blobs [flags]` copies its files from one store to another.
 */
const [, , command, ...args] = process.argv
if (command === 'fsck') {
  const { fsckCommand } = await import('./commands/fsck.ts')
  process.exitCode = await fsckCommand({ args, env: process.env })
} else if (command === 'migrate-blobs') {
  const { migrateBlobsCommand } = await import('./commands/migrate-blobs.ts')
  process.exitCode = await migrateBlobsCommand({ args, env: process.env })
} else await import('./main.ts')

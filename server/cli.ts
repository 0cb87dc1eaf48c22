#!/usr/bin/env node
/** The package's command: `evidence-registry [flags]` runs the server, `evidence-registry fsck [flags]` checks a data directory. */
if (process.argv[2] === 'fsck') {
  const { fsckCommand } = await import('./commands/fsck.ts')
  process.exitCode = await fsckCommand({ args: process.argv.slice(3), env: process.env })
} else await import('./main.ts')

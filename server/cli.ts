#!/usr/bin/env node
import { runCommand } from './commands/dispatch.ts'
import { exitCodeOf } from './commands/terminal.ts'

/** The package's command: `evidence-registry COMMAND [flags]` runs one, `evidence-registry [flags]` the server. */
// eslint-disable-next-line node/no-process-env -- only programs read the environment, and pass it on
const exitCode = await exitCodeOf(() => runCommand({ args: process.argv.slice(2), env: process.env }))
if (exitCode === undefined) await import('./main.ts')
else {
  process.exitCode = exitCode
  // That of a process manager would keep the process alive.
  process.channel?.unref()
}

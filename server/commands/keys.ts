import { runOperation } from '../control/run.ts'
import { listKeysOperation } from '../control/operations/list-keys.ts'
import type { CommandInput } from './command.ts'
import { DATA_DIR, defineCommand, SECRET_FILE } from './command.ts'

const flags = { 'data-dir': DATA_DIR, 'secret-file': SECRET_FILE } as const
const usage = ['[--data-dir DIR] [--secret-file FILE]']

const listCommand = defineCommand({
  name: 'keys list',
  usage,
  description: `
Lists the checkpoint keys of the log, oldest first: the tree sizes that each key signs, and its verifier key.`,
  flags,
  success: 'the keys are listed',
  async run(_, config) {
    const { keys } = await runOperation(listKeysOperation, {}, { config })
    for (const { vkey, from, until } of keys)
      process.stdout.write(`${`${from} to ${until ?? '…'}`.padEnd(16)} ${vkey}\n`)
    return 0
  },
})

const COMMANDS: Readonly<Record<string, (input: CommandInput) => Promise<number>>> = { list: listCommand }

const HELP = `Usage: evidence-registry keys list [flags]

The keys that sign the checkpoints of the log. Each command has its own --help.

  list   lists the keys, with the tree sizes that each of them signs
`

const EXIT_USAGE = 2

/** Runs `keys list` and its siblings. */
export async function keysCommand({ args, env }: CommandInput): Promise<number> {
  const [name = '', ...others] = args
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command !== undefined) return command({ args: others, env })
  const isHelp = name === '--help' || name === '-h'
  if (isHelp) process.stdout.write(HELP)
  else process.stderr.write(`evidence-registry keys: expected ${Object.keys(COMMANDS).join(', ')} or --help\n`)
  return isHelp ? 0 : EXIT_USAGE
}

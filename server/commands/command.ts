import { parseArgs } from 'node:util'
import { isRegistryError } from '../../core/index.ts'
import { loadConfig, type Config, type Environment } from '../settings/load.ts'
import { describeFailure } from '../startup/failure.ts'
import { wrongFlags } from './terminal.ts'
import { configError } from '../settings/config-error.ts'

/** A flag of a command. `value` names its value in the help; a flag without it is a switch. */
export interface CommandFlag {
  readonly value?: string
  readonly doc: string
}

export type CommandFlags = Readonly<Record<string, CommandFlag>>

/** The values that were given for a table of flags. */
export type FlagValues<F extends CommandFlags> = {
  readonly [K in keyof F]?: F[K] extends { readonly value: string } ? string : boolean
}

interface Command<F extends CommandFlags> {
  readonly name: string
  /** The arguments, one line for each way to call the command. */
  readonly usage: readonly string[]
  /** Text between the usage and the flags. */
  readonly description: string
  readonly flags: F
  /** The name of the one argument that is not a flag, for a command that needs it. */
  readonly operand?: string
  /** What exit code 0 means. */
  readonly success: string
  /** What exit code 1 means. Default: differences, or a store that cannot be used. */
  readonly failure?: string
  /** Prints differences or problems to stdout, one line each, and returns how many there are. */
  run(values: FlagValues<F>, config: Config, operand: string): Promise<number>
}

export interface CommandInput {
  /** Arguments after the command's name. */
  readonly args: readonly string[]
  readonly env: Environment
}

export const DATA_DIR = {
  value: 'DIR',
  doc: 'the data directory; default: EVIDENCE_DATA_DIR, else ./data',
} as const satisfies CommandFlag

export const SECRET_FILE = {
  value: 'FILE',
  doc: 'the root secret; default: EVIDENCE_SECRET_FILE, else the file secret in the data directory',
} as const satisfies CommandFlag

export const CHECKPOINT_KEYS = {
  value: 'FILE',
  doc: 'the keyring; default: EVIDENCE_CHECKPOINT_KEYS, else the file checkpoint-keys.json in the data directory',
} as const satisfies CommandFlag

/** Exit codes: success, differences or a store that fails, wrong use. */
const [EXIT_SUCCESS, EXIT_PROBLEMS, EXIT_USAGE] = [0, 1, 2]

/** Settings of the server that a command accepts as flags of the same name. */
const SETTING_FLAGS: readonly string[] = ['data-dir', 'secret-file', 'checkpoint-keys']

/**
 * Makes a command out of its description. The command parses its flags, runs, and returns the exit code. Errors go to
 * stderr, one line each.
 */
export const defineCommand =
  <F extends CommandFlags>(command: Command<F>) =>
  async ({ args, env }: CommandInput): Promise<number> => {
    try {
      const parsed = parseFlags(command, args)
      if (parsed === 'help') {
        process.stdout.write(helpOf(command))
        return EXIT_SUCCESS
      }
      const { values, operand } = parsed
      const config = loadConfig({ args: settingArguments(values), env })
      return (await command.run(values, config, operand)) === 0 ? EXIT_SUCCESS : EXIT_PROBLEMS
    } catch (error) {
      process.stderr.write(`evidence-registry ${command.name}: ${describeFailure(error, undefined)}\n`)
      return isRegistryError(error, 'CONFIG_ERROR') ? EXIT_USAGE : EXIT_PROBLEMS
    }
  }

interface ParsedArguments<F extends CommandFlags> {
  readonly values: FlagValues<F>
  /** Empty for a command without one. */
  readonly operand: string
}

function parseFlags<F extends CommandFlags>(command: Command<F>, args: readonly string[]): ParsedArguments<F> | 'help' {
  const { flags, operand } = command
  const options = Object.fromEntries(
    Object.entries(flags).map(
      ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
    ),
  )
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: operand !== undefined,
    })
    if (values['help'] === true) return 'help'
    if (positionals.length === (operand === undefined ? 0 : 1))
      return { values: values as FlagValues<F>, operand: positionals[0] ?? '' }
  } catch {
    // Falls through: the arguments are not repeated, not even as a cause. One of them may be a URL with a password.
  }
  const names = Object.entries(flags).map(([name, { value }]) => `--${name}${value === undefined ? '' : ` ${value}`}`)
  const expected = [...(operand === undefined ? [] : [operand]), ...names]
  throw configError(wrongFlags(expected, args))
}

function settingArguments(values: Readonly<Record<string, string | boolean | undefined>>): readonly string[] {
  return SETTING_FLAGS.flatMap((name) => {
    const value = values[name]
    return typeof value === 'string' ? [`--${name}`, value] : []
  })
}

function helpOf<F extends CommandFlags>(command: Command<F>): string {
  const { name, usage, description, flags, success, failure = 'differences, or a store that cannot be used' } = command
  const calls = usage.map((line, i) => `${i === 0 ? 'Usage:' : '      '} evidence-registry ${name} ${line}`)
  const rows = Object.entries(flags).map(
    ([flag, { value, doc }]) => [`--${flag}${value === undefined ? '' : ` ${value}`}`, doc] as const,
  )
  const width = Math.max(...rows.map(([flag]) => flag.length))
  const table = rows.map(([flag, doc]) => `  ${flag.padEnd(width)}  ${doc}`)
  return `${calls.join('\n')}

${description.trim()}

${table.join('\n')}

Exit codes: 0 ${success}; 1 ${failure}; 2 a wrong flag or setting.
`
}

import { resolve } from 'node:path'
import { isRegistryError } from '../../core/index.ts'
import { loadConfig, type Config, type Environment } from '../settings/load.ts'
import { describeFailure } from '../startup/failure.ts'
import { parseFlags, UsageError } from './flags.ts'
import type { CommandArguments, CommandFlag, CommandFlags, FlagValues } from './flags.ts'

/** What a command is. Everything around it is the same for all: flags, settings, errors, exit codes. */
interface Command<F extends CommandFlags> extends CommandArguments<F> {
  /** What exit code 0 means. */
  readonly success: string
  /** What exit code 1 means. Default: differences, or a store that cannot be used. */
  readonly failure?: string
  /** Prints differences or problems to stdout, one line each, and returns how many there are. */
  run(values: FlagValues<F>, config: Config, operand: string): Promise<number>
}

/** What the program was called with. */
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
  doc: 'the keyring, or a module; default: EVIDENCE_CHECKPOINT_KEYS, else the file checkpoint-keys.json in the data directory',
} as const satisfies CommandFlag

/** The directory of a backup that a flag names. `-` would be standard output or input. */
export function backupDirectory(path: string): string {
  if (path === '-') throw new UsageError('a backup is a directory, not standard output or input: name a directory')
  return resolve(path)
}

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
    let config: Config | undefined
    try {
      const { success, failure = 'differences, or a store that cannot be used' } = command
      const parsed = parseFlags(command, args, `0 ${success}; 1 ${failure}; 2 a wrong flag or setting`)
      if (parsed === undefined) return EXIT_SUCCESS
      const { values, operand } = parsed
      config = loadConfig({ args: settingArguments(values), env })
      return (await command.run(values, config, operand)) === 0 ? EXIT_SUCCESS : EXIT_PROBLEMS
    } catch (error) {
      process.stderr.write(`evidence-registry ${command.name}: ${describeFailure(error, undefined, config?.dataDir)}\n`)
      return error instanceof UsageError || isRegistryError(error, 'CONFIG_ERROR') ? EXIT_USAGE : EXIT_PROBLEMS
    }
  }

const settingArguments = (values: object): readonly string[] =>
  Object.entries(values).flatMap(([name, value]: [string, unknown]) =>
    SETTING_FLAGS.includes(name) && typeof value === 'string' ? [`--${name}`, value] : [],
  )

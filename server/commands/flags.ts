import { parseArgs } from 'node:util'

/** The flags of commands: reading them, and the help. It loads nothing else, because `verify` must start fast. */

/** A flag of a command. `value` names its value in the help; a flag without it is a switch. */
export interface CommandFlag {
  readonly value?: string
  readonly doc: string
  readonly isRequired?: true
  /** May be given more than once. */
  readonly isMultiple?: true
}

/** The flags of a command by name, in the order of its help. */
export type CommandFlags = Readonly<Record<string, CommandFlag>>

type ValueOf<F extends CommandFlag> = F extends { readonly isMultiple: true }
  ? readonly string[]
  : F extends { readonly value: string }
    ? string
    : boolean

/** The values that were given for a table of flags. */
export type FlagValues<F extends CommandFlags> = {
  readonly [K in keyof F as F[K] extends { readonly isRequired: true } ? never : K]?: ValueOf<F[K]>
} & { readonly [K in keyof F as F[K] extends { readonly isRequired: true } ? K : never]: ValueOf<F[K]> }

/** What the arguments of a command are, and what its help says about them. */
export interface CommandArguments<F extends CommandFlags> {
  readonly name: string
  /** The arguments, one line for each way to call the command. Default: one line with all of them. */
  readonly usage?: readonly string[]
  /** Text between the usage and the flags. */
  readonly description: string
  readonly flags: F
  /** The name of the argument that is not a flag, for a command that needs one. With `...` there may be several. */
  readonly operand?: string
}

/** A command was called with other arguments than it accepts. */
export class UsageError extends Error {}

interface ParsedArguments<F extends CommandFlags> {
  readonly values: FlagValues<F>
  /** The first one; empty for a command without. */
  readonly operand: string
  readonly operands: readonly string[]
}

/**
 * Parses the arguments of a command. With `--help` it prints the help and returns `undefined`.
 *
 * @param exitCodes - for the help: what they mean
 * @throws UsageError that lists what the command accepts, and repeats no value: one may be a URL with a password
 */
export function parseFlags<F extends CommandFlags>(
  command: CommandArguments<F>,
  args: readonly string[],
  exitCodes: string,
): ParsedArguments<F> | undefined {
  const { flags, operand } = command
  const options = Object.entries(flags).map(([name, { value, isMultiple = false }]) => {
    const type = value === undefined ? 'boolean' : 'string'
    return [name, { type, multiple: isMultiple }] as const
  })
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...Object.fromEntries(options), help: { type: 'boolean', short: 'h' } },
      allowPositionals: operand !== undefined,
    })
    if (values['help'] === true) {
      process.stdout.write(helpOf(command, exitCodes))
      return undefined
    }
    const isMissing = Object.entries(flags).some(([name, flag]) => flag.isRequired && !Object.hasOwn(values, name))
    const [least, most] = operand === undefined ? [0, 0] : [1, operand.endsWith('...') ? Infinity : 1]
    if (!isMissing && positionals.length >= least && positionals.length <= most)
      // eslint-disable-next-line typescript/no-unsafe-type-assertion -- `parseArgs` read them by this table
      return { values: values as FlagValues<F>, operand: positionals[0] ?? '', operands: positionals }
  } catch {
    // Falls through: the error of the parser repeats the arguments.
  }
  const known = Object.keys(flags).map((name) => `--${name}`)
  const given = args.map((arg) => /^--[a-z-]+/.exec(arg)?.[0])
  const unknown = given.find((flag) => flag !== undefined && flag !== '--help' && !known.includes(flag))
  const expected = [...(operand === undefined ? [] : [operand]), ...Object.entries(flags).map(nameOf)]
  throw new UsageError(`expected ${expected.join(', ')} or --help${unknown === undefined ? '' : `, got ${unknown}`}`)
}

/** A flag with the name of its value, such as `--to DIR`. */
const nameOf = ([name, { value }]: readonly [string, CommandFlag]): string =>
  `--${name}${value === undefined ? '' : ` ${value}`}`

/** A flag in the usage line: in brackets unless it is needed. */
function usageOf([name, flag]: readonly [string, CommandFlag]): string {
  if (flag.isRequired) return nameOf([name, flag])
  return `[${nameOf([name, flag])}]${flag.isMultiple ? '...' : ''}`
}

/** The text of `--help`. */
function helpOf<F extends CommandFlags>(command: CommandArguments<F>, exitCodes: string): string {
  const { name, description, flags, operand } = command
  const rows = Object.entries(flags)
  const { usage = [[...rows.map(usageOf), ...(operand === undefined ? [] : [operand])].join(' ')] } = command
  const calls = usage.map((line, i) => `${i === 0 ? 'Usage:' : '      '} evidence-registry ${name} ${line}`)
  const width = Math.max(...rows.map((row) => nameOf(row).length))
  const table = rows.map((row) => `  ${nameOf(row).padEnd(width)}  ${row[1].doc}`)
  return `${calls.join('\n')}\n\n${description.trim()}\n\n${table.join('\n')}\n\nExit codes: ${exitCodes}.\n`
}

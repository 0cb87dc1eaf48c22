/** What the parsers of command lines need to say about arguments that Node's `parseArgs` did not accept. */

/**
 * Lists what is accepted, and names the first unknown flag, but no value: one of them may be a URL with a password.
 *
 * @param expected operands and flags with the names of their values, such as `--to DIR`
 */
export function wrongFlags(expected: readonly string[], args: readonly string[]): string {
  const known = new Set(['--help', ...expected.map((each) => each.split(' ', 1)[0])])
  const given = args.map((arg) => /^--[a-z-]+/.exec(arg)?.[0]).find((flag) => flag !== undefined && !known.has(flag))
  return `expected ${expected.join(', ')} or --help${given === undefined ? '' : `, got ${given}`}`
}

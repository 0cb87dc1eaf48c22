import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { TAMPER_KINDS, type TamperKind } from './tamper.ts'

export const HELP = `Usage: npm run demo [-- DIR] [--keep] [--tamper KINDS]

Registers every file below DIR (default: the source tree of this project) as an evidence, updates and transfers some,
deletes a file, and waits until everything is sealed and confirmed. Then checks everything again from the responses of
the server alone.

  --keep          keep the data directory, and print its path
  --tamper KINDS  change one byte in one response of each kind, to see checks fail: ${TAMPER_KINDS.join(', ')}

Exit codes: 0 every check passed; 1 a check failed, or the demo could not run; 2 wrong use.
`

/** Folders that are excluded from the own source tree. In a given directory, nothing is excluded. */
const EXCLUDED: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', 'coverage', 'data'])

export interface DemoOptions {
  readonly directory: string
  readonly excluded: ReadonlySet<string>
  readonly keep: boolean
  readonly tamper: readonly TamperKind[]
}

/** An error in the arguments. */
export class UsageError extends Error {}

/** Returns `undefined` for `--help`. Throws `UsageError` for arguments that are not accepted. */
export function parseOptions(args: readonly string[]): DemoOptions | undefined {
  const { values, positionals } = parsed(args)
  if (values.help) return undefined
  if (positionals.length > 1) throw new UsageError(`expected one directory, got ${positionals.length}`)
  const [directory] = positionals
  return {
    directory: resolve(directory ?? ownSourceTree()),
    excluded: directory === undefined ? EXCLUDED : new Set(),
    keep: values.keep,
    tamper: parseTamperKinds(values.tamper),
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        keep: { type: 'boolean', default: false },
        tamper: { type: 'string', default: '' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch {
    const unknown = args.find((arg) => arg.startsWith('-') && !/^(?:--(?:keep|tamper|help)(?:=.*)?|-h)$/s.test(arg))
    const got = unknown === undefined ? '' : `, got ${unknown}`
    throw new UsageError(`expected DIR, --keep, --tamper KINDS or --help${got}`)
  }
}

function parseTamperKinds(text: string): readonly TamperKind[] {
  const names = text.split(',').filter((name) => name !== '')
  return names.map((name) => {
    const kind = TAMPER_KINDS.find((candidate) => candidate === name)
    if (kind === undefined) throw new UsageError(`--tamper must be some of ${TAMPER_KINDS.join(', ')}, got ${name}`)
    return kind
  })
}

/** The project's root: above `server/demo`, or above `dist/server/demo` if it is built. */
function ownSourceTree(): string {
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
  return import.meta.url.endsWith('.js') ? dirname(root) : root
}

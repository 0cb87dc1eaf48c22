import type { CommandInput } from './command.ts'

type Run = (input: CommandInput) => Promise<number>

/** Every command by its name. Each is loaded when it is called, so that it starts fast. */
const COMMANDS: Readonly<Record<string, () => Promise<Run>>> = {
  seal: async () => (await import('./seal.ts')).sealCommand,
  'keys list': async () => (await import('./keys.ts')).listCommand,
  'keys generate': async () => (await import('./keys.ts')).generateCommand,
  'keys rotate': async () => (await import('./keys.ts')).rotateCommand,
  backup: async () => (await import('./backup.ts')).createCommand,
  'backup verify': async () => (await import('./backup.ts')).verifyBackupCommand,
  restore: async () => (await import('./restore.ts')).restoreCommand,
  fsck: async () => (await import('./fsck.ts')).fsckCommand,
  import: async () => (await import('./import.ts')).importCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  verify: async () => (await import('./verify.ts')).verifyCommand,
  'migrate-blobs': async () => (await import('./migrate-blobs.ts')).migrateBlobsCommand,
}

const EXIT_USAGE = 2

/** Runs the command that the arguments name, and returns its exit code; `undefined` if they name none. */
export async function runCommand({ args, env }: CommandInput): Promise<number | undefined> {
  const [name = '', second = ''] = args
  for (const words of [2, 1]) {
    const full = args.slice(0, words).join(' ')
    const load = Object.hasOwn(COMMANDS, full) ? COMMANDS[full] : undefined
    if (load !== undefined) return (await load())({ args: args.slice(words), env })
  }
  const group = Object.keys(COMMANDS).filter((command) => command.startsWith(`${name} `))
  if (group.length === 0) return undefined
  const names = group.map((command) => command.slice(name.length + 1))
  if (second === '--help' || second === '-h') {
    process.stdout.write(`Usage: evidence-registry ${name} ${names.join(' | ')} [flags]\n\nEach has its own --help.\n`)
    return 0
  }
  process.stderr.write(`evidence-registry ${name}: expected ${names.join(', ')} or --help\n`)
  return EXIT_USAGE
}

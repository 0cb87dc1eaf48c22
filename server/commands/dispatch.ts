import type { CommandInput } from './command.ts'

type Run = (input: CommandInput) => Promise<number>

/** Every command by its name: what it does, and how it is loaded when it is called, so that it starts fast. */
const COMMANDS: Readonly<Record<string, readonly [does: string, load: () => Promise<Run>]>> = {
  add: ['creates an evidence for each file', async () => (await import('./evidences.ts')).addCommand],
  get: ['prints an evidence and its events', async () => (await import('./evidences.ts')).getCommand],
  list: ['prints evidences', async () => (await import('./evidences.ts')).listEvidencesCommand],
  bundle: ['writes proof bundles', async () => (await import('./evidences.ts')).bundleCommand],
  erase: ['erases what is personal for good', async () => (await import('./erase.ts')).eraseCommand],
  watch: ['prints events as they are recorded', async () => (await import('./evidences.ts')).watchCommand],
  verify: ['verifies a proof bundle or an export, offline', async () => (await import('./verify.ts')).verifyCommand],
  report: ['writes a page about a proof bundle', async () => (await import('./report.ts')).reportCommand],
  monitor: ['follows a log from outside', async () => (await import('./monitor.ts')).monitorCommand],
  export: ['writes all evidences of a company to a file', async () => (await import('./export.ts')).exportCommand],
  import: ['creates evidences from a file', async () => (await import('./import-server.ts')).importCommand],
  share: ['makes a link that discloses a part of an evidence', async () => (await import('./share.ts')).shareCommand],
  seal: ['seals all new events at once, on a running server', async () => (await import('./seal.ts')).sealCommand],
  'keys list': ['shows the checkpoint keys', async () => (await import('./keys.ts')).listCommand],
  'keys generate': ['makes a new checkpoint key', async () => (await import('./keys.ts')).generateCommand],
  'keys rotate': ['lets the newest checkpoint key sign', async () => (await import('./keys.ts')).rotateCommand],
  'keys mark-compromised': ['marks an earlier key as stolen', async () => (await import('./keys.ts')).markCommand],
  'adopt head': ['replaces a lost signed head', async () => (await import('./adopt.ts')).adoptHeadCommand],
  'adopt bucket': ['accepts a bucket without its files', async () => (await import('./adopt.ts')).adoptBucketCommand],
  'adopt transactions': [
    'ends the alarm that others use the account of the anchors',
    async () => (await import('./adopt.ts')).adoptTransactionsCommand,
  ],
  'witnesses resume': ['ends the alarm of a witness', async () => (await import('./witnesses.ts')).resumeCommand],
  'config check': [
    'shows the settings, and tries what they name',
    async () => (await import('./config-check.ts')).configCheckCommand,
  ],
  backup: ['copies a registry', async () => (await import('./backup.ts')).createCommand],
  'backup verify': ['checks a backup', async () => (await import('./backup.ts')).verifyBackupCommand],
  restore: ['restores a registry from a backup', async () => (await import('./restore.ts')).restoreCommand],
  fsck: ['checks and repairs a store', async () => (await import('./fsck.ts')).fsckCommand],
  rewrite: ['removes what was erased from the files', async () => (await import('./rewrite.ts')).rewriteCommand],
  migrate: ['copies the records into another store', async () => (await import('./migrate.ts')).migrateCommand],
  'migrate-blobs': [
    'copies the files into another store',
    async () => (await import('./migrate-blobs.ts')).migrateBlobsCommand,
  ],
}

const EXIT_USAGE = 2

/** Runs the command that the arguments name, and returns its exit code; `undefined` if they are those of the server. */
export async function runCommand({ args, env }: CommandInput): Promise<number | undefined> {
  const [name = '', second = ''] = args
  for (const words of [2, 1]) {
    const full = args.slice(0, words).join(' ')
    const found = Object.hasOwn(COMMANDS, full) ? COMMANDS[full] : undefined
    if (found !== undefined) return (await found[1]())({ args: args.slice(words), env })
  }
  if (name === 'help') return second === '' ? print(HELP) : runCommand({ args: [...args.slice(1), '--help'], env })
  const group = Object.keys(COMMANDS).filter((each) => each.startsWith(`${name} `))
  if (group.length === 0) return name === '' || name.startsWith('-') ? undefined : fail(unknown(name))
  const names = group.map((each) => each.slice(name.length + 1))
  if (second === '--help' || second === '-h')
    return print(`Usage: evidence-registry ${name} ${names.join(' | ')} [flags]\n\nEach has its own --help.\n`)
  return fail(` ${name}: expected ${names.join(', ')} or --help`)
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

function fail(reason: string): number {
  process.stderr.write(`evidence-registry${reason}\n`)
  return EXIT_USAGE
}

const WIDTH = Math.max(...Object.keys(COMMANDS).map((name) => name.length))

const HELP = `Usage: evidence-registry COMMAND [flags]

${Object.entries(COMMANDS)
  .map(([name, [does]]) => `  ${name.padEnd(WIDTH)}  ${does}`)
  .join('\n')}

Each has its own --help. Without a command, the server runs: evidence-registry --help lists its settings.
`

function unknown(given: string): string {
  const names = Object.keys(COMMANDS).map((name) => name.replace(/ .*/, ''))
  const nearest = names.find((name) => isNear(name, given, 1)) ?? names.find((name) => isNear(name, given, 2))
  const hint = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  return `: there is no command ${JSON.stringify(given.slice(0, 32))}.${hint} evidence-registry help lists all of them`
}

/** Whether so many letters, inserted, removed or replaced, make one text of the other. */
function isNear(a: string, b: string, edits: number): boolean {
  if (edits < 0 || a === '' || b === '') return a.length + b.length <= edits
  const [restOfA, restOfB] = [a.slice(1), b.slice(1)]
  if (a[0] === b[0]) return isNear(restOfA, restOfB, edits)
  return [isNear(restOfA, b, edits - 1), isNear(a, restOfB, edits - 1), isNear(restOfA, restOfB, edits - 1)].includes(
    true,
  )
}

import { readFile, writeFile } from 'node:fs/promises'
import { isTlogProof } from '../../core/verify/index.ts'
import { BUILT_SERVER } from '../version.ts'
import type { CommandInput } from './command.ts'
import { parseFlags, UsageError } from './flags.ts'
import { whyUnreadable } from './terminal.ts'
import { readText, verifyCommand } from './verify.ts'

const COMMAND = {
  name: 'report',
  description: `
Verifies a proof bundle, and writes a page about it for people who have no verifier, such as a court: one file that
works offline, verifies itself when it is opened, and prints. It says who had the thing, what is proven and what is
not, and how to check that without this page. It holds the bundle and the policy.`,
  usage: ['BUNDLE --policy FILE --to FILE'],
  operand: 'BUNDLE',
  flags: {
    policy: { value: 'FILE', isRequired: true, doc: 'your policy, as of verify' },
    to: { value: 'FILE', isRequired: true, doc: 'the page, such as report.html' },
  },
} as const

const CODES = '0 proven; 1 refuted; 2 wrong use: nothing is written; others as of verify'
const EXIT_USAGE = 2

/** `evidence-registry report`. */
export async function reportCommand({ args }: Pick<CommandInput, 'args'>): Promise<number> {
  try {
    const parsed = parseFlags(COMMAND, args, CODES)
    if (parsed === undefined) return 0
    const { operand, values } = parsed
    const bundle = await readText(operand)
    if (isTlogProof(bundle)) throw new UsageError(`${operand} is a tlog-proof: name a proof bundle`)
    const exitCode = await verifyCommand({ args: ['--policy', values.policy, '--', operand] })
    if (exitCode === EXIT_USAGE) return exitCode
    const page = await pageOf({ bundle, policy: await readText(values.policy) })
    await writeFile(values.to, page).catch((error: unknown) => {
      throw new UsageError(`cannot write ${values.to}: ${whyUnreadable(error)}`)
    })
    process.stdout.write(`${values.to}: the report, for a browser or a printer\n`)
    return exitCode
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`evidence-registry report: ${error.message}\n`)
    return EXIT_USAGE
  }
}

/** The verification page, with what it verifies. It is JSON, in which no `<` can begin a tag. */
async function pageOf(report: Readonly<Record<'bundle' | 'policy', string>>): Promise<string> {
  const page = await readFile(new URL('ui/verify.html', BUILT_SERVER), 'utf8')
  const json = JSON.stringify(report).replaceAll('<', '\\u003c')
  return page.replace('<main ', () => `<script type="application/json" id="report">${json}</script><main `)
}

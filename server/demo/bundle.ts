import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CheckSummary } from './check-summary.ts'
import type { Connection } from './client.ts'
import type { Progress } from './progress.ts'
import type { Receipt } from './register.ts'
import { programArguments, withoutSettings } from './service.ts'

/** What a stranger does with a proof bundle: verifies the file with the command, in a process of its own. */

export interface BundleCheck {
  readonly connection: Connection
  readonly receipt: Receipt
  /** Where the bundle is written. */
  readonly directory: string
  readonly summary: CheckSummary
  readonly progress: Progress
}

/** Writes a bundle and a policy, and shows that the command accepts the bundle and rejects a changed copy. */
export async function checkBundle({ connection, receipt, directory, summary, progress }: BundleCheck): Promise<void> {
  const { client, readPublic } = connection
  const bundle = await client.getBundle({ externalId: receipt.externalId, fields: 'all', files: 'all' })
  const text = await bundle.text()
  const policy = join(directory, 'policy.json')
  await writeFile(policy, await readPublic('/log/policy'))
  await show('bundle: proven by the command', { name: 'demo.evidence.json', content: text, expectedCode: 0 })
  await show('bundle: a changed copy is refuted', {
    name: 'tampered.evidence.json',
    content: changeOneDigit(text),
    expectedCode: 1,
  })

  async function show(check: string, { name, content, expectedCode }: ShownBundle): Promise<void> {
    const path = join(directory, name)
    await writeFile(path, content)
    const { code, stdout } = await runVerify([path, '--policy', policy])
    const [verdict = ''] = stdout.split('\n')
    progress.print(`$ npx evidence-registry verify ${name} --policy policy.json\n  ${verdict}`)
    summary.note(check, name, code === expectedCode ? undefined : `exit code ${code}, expected ${expectedCode}`)
  }
}

interface ShownBundle {
  readonly name: string
  readonly content: string
  readonly expectedCode: number
}

/** Changes a digit of the first salt. */
function changeOneDigit(text: string): string {
  const at = text.indexOf('"salt":"') + '"salt":"'.length
  return `${text.slice(0, at)}${text[at] === '1' ? '2' : '1'}${text.slice(at + 1)}`
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

function runVerify(args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string }> {
  return new Promise((resolve) => {
    const options = { env: withoutSettings(), maxBuffer: MAX_OUTPUT_BYTES }
    execFile(process.execPath, [...programArguments('cli'), 'verify', ...args], options, (error, stdout) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout })
    })
  })
}

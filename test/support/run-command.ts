import { mock } from 'node:test'
import { runCommand } from '../../server/commands/dispatch.ts'

export interface CommandOutcome {
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command of the package in this process. What it prints is collected. Run one at a time. */
export async function runInProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandOutcome> {
  const output = { stdout: '', stderr: '' }
  const mocked = (['stdout', 'stderr'] as const).map((name) => {
    const stream = process[name]
    const write = stream.write.bind(stream)
    return mock.method(stream, 'write', (chunk: string | Uint8Array) => {
      // The test runner writes bytes.
      if (typeof chunk !== 'string') return write(chunk)
      output[name] += chunk
      return true
    })
  })
  try {
    const code = await runCommand({ args, env })
    return { code, ...output }
  } finally {
    for (const method of mocked) method.mock.restore()
  }
}

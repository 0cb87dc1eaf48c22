import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { runCommand } from '../../server/commands/dispatch.ts'
import { eventually } from './eventually.ts'
import { programArgs } from './repository.ts'

const MAIN = programArgs('server/main.ts')
const CLI = programArgs('server/cli.ts')

export type Environment = Readonly<Record<string, string>>

/** Of servers that seal, stamp and anchor at once. */
export const AT_ONCE: Environment = {
  EVIDENCE_SEAL_MAX_WAIT_MS: '50',
  EVIDENCE_TSA_INTERVAL_MS: '0',
  EVIDENCE_ANCHOR_INTERVAL_MS: '0',
}

/** On Node 20 the AWS SDK warns that its later versions need Node 22. */
const BASE: Environment = {
  PATH: process.env['PATH'] ?? '',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
}

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Whether the variable is a setting, which a command is given, or is the same for this process. */
const isSettingOrShared = ([name, value]: readonly [string, string]): boolean =>
  name.startsWith('EVIDENCE_') || process.env[name] === value

/**
 * Runs `evidence-registry` with these arguments until it ends: a command in this process, because a process costs a
 * second, and the server, or a command with other variables than this process, in one of its own.
 */
export async function runCli(args: readonly string[], env: Environment = {}): Promise<Outcome> {
  if (!Object.entries(env).every(isSettingOrShared)) return runProcess(args, env)
  const output = { stdout: '', stderr: '' }
  const code = await outputs.run(output, () => runCommand({ args, env }))
  return code === undefined ? runProcess(args, env) : { code, ...output }
}

/** The outcome of a command, which must end with this code. */
export async function ends<T extends Pick<Outcome, 'code' | 'stdout'>>(code: number, command: Promise<T>): Promise<T> {
  const outcome = await command
  assert.equal(outcome.code, code, JSON.stringify(outcome))
  return outcome
}

const runProcess = (args: readonly string[], env: Environment): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [...CLI, ...args], { env: { ...BASE, ...env } }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })

/** What the commands of this process have written. Each of them runs with an object of its own. */
const outputs = new AsyncLocalStorage<{ stdout: string; stderr: string }>()

for (const name of ['stdout', 'stderr'] as const) {
  const stream = process[name]
  const write = stream.write.bind(stream) as (...args: readonly unknown[]) => boolean
  stream.write = (...args: readonly unknown[]): boolean => {
    const output = outputs.getStore()
    if (output === undefined) return write(...args)
    output[name] += String(args[0])
    return true
  }
}

/** The server in a process of its own, on a free port. */
export class ServerProcess {
  readonly child: ChildProcess
  /** Resolves when the process has ended and all of its output was read. */
  readonly #closed: Promise<void>
  stdout = ''
  stderr = ''

  constructor(
    directory: string,
    env: Environment = {},
    args: readonly string[] = [],
    nodeFlags: readonly string[] = [],
  ) {
    const settings = { ...AT_ONCE, EVIDENCE_PORT: '0', EVIDENCE_DATA_DIR: directory }
    this.child = spawn(process.execPath, [...nodeFlags, ...MAIN, ...args], {
      env: { ...BASE, ...settings, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#closed = new Promise((resolve) => this.child.once('close', () => resolve()))
    this.child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()))
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()))
  }

  get output(): string {
    return this.stdout + this.stderr
  }

  /** The lines of the log. */
  get lines(): Record<string, unknown>[] {
    const complete = this.stdout.slice(0, this.stdout.lastIndexOf('\n') + 1)
    return complete
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  /** Waits until the server is ready, and returns the line that says so. */
  readyLine(): Promise<Record<string, unknown>> {
    return eventually(
      () => {
        assert.equal(this.child.exitCode, null, `the server ended: ${this.output}`)
        return this.lines.find(({ msg }) => msg === 'ready')
      },
      () => `the server is not ready: ${this.output}`,
    )
  }

  /** Waits until the server is ready, and returns its URL. */
  async ready(): Promise<string> {
    return String((await this.readyLine())['url'])
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal)
    return this.ended()
  }

  /** Waits until the process has ended, and returns its exit code. */
  async ended(): Promise<number | null> {
    await this.#closed
    return this.child.exitCode
  }
}

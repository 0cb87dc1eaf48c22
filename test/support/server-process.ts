import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { programArgs } from './program.ts'

const MAIN = programArgs(import.meta.url, '../../server/main.ts')

/** The server as a process of its own. */
export class ServerProcess {
  readonly child: ChildProcess
  stdout = ''
  stderr = ''

  constructor(
    directory: string,
    env: Readonly<Record<string, string>> = {},
    args: readonly string[] = [],
    nodeFlags: readonly string[] = [],
  ) {
    const settings = {
      PATH: process.env['PATH'] ?? '',
      EVIDENCE_PORT: '0',
      EVIDENCE_DATA_DIR: directory,
      EVIDENCE_SEAL_MAX_WAIT_MS: '50',
      ...env,
    }
    this.child = spawn(process.execPath, [...nodeFlags, ...MAIN, ...args], {
      env: settings,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()))
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()))
  }

  get lines(): Record<string, unknown>[] {
    return this.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  async ready(): Promise<string> {
    for (let i = 0; i < 1_000; i++) {
      const line = this.lines.find(({ msg }) => msg === 'ready')
      if (line) return String(line['url'])
      assert.equal(this.child.exitCode, null, `it ended: ${this.stderr}${this.stdout}`)
      await delay(20)
    }
    return assert.fail(`it did not get ready: ${this.stderr}${this.stdout}`)
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = once(this.child, 'close')
      this.child.kill(signal)
      await ended
    }
    return this.child.exitCode
  }

  async ended(): Promise<number | null> {
    if (this.child.exitCode === null) await once(this.child, 'close')
    return this.child.exitCode
  }
}

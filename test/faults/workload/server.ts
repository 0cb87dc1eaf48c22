import { once } from 'node:events'
import { eventually } from '../../support/eventually.ts'
import { ServerProcess, type Environment } from '../../support/server-process.ts'
import { OPERATOR_KEY } from './http-writer.ts'

/** A server of the fault harness. It may end at any time, also before it is ready. */
export class FaultServer {
  readonly server: ServerProcess
  readonly #closed: Promise<unknown>

  constructor(directory: string, env: Environment = {}, nodeFlags: readonly string[] = []) {
    const settings = {
      EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
      // The load sends small files and others.
      EVIDENCE_SMALL_FILE_BYTES: '4096',
    }
    this.server = new ServerProcess(directory, { ...settings, ...env }, [], nodeFlags)
    this.#closed = once(this.server.child, 'close')
  }

  get hasEnded(): boolean {
    const { exitCode, signalCode } = this.server.child
    return exitCode !== null || signalCode !== null
  }

  get isKilled(): boolean {
    return this.server.child.signalCode === 'SIGKILL'
  }

  get output(): string {
    return this.server.output
  }

  /** Waits until the server is ready or has ended. Returns its URL, or `undefined` if it has ended. */
  async ready(): Promise<string | undefined> {
    const url = await eventually(
      () => (this.hasEnded ? 'ended' : this.server.lines.find(({ msg }) => msg === 'ready')?.['url']),
      () => `the server is not ready: ${this.output}`,
    )
    return url === 'ended' ? undefined : String(url)
  }

  /** Sends SIGKILL. Returns whether the process still existed. */
  kill(): boolean {
    return this.server.child.kill('SIGKILL')
  }

  /** Waits until the process has ended and all its output was read. */
  async ended(): Promise<void> {
    await this.#closed
  }
}

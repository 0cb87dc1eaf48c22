import { eventually } from '../../support/eventually.ts'
import { ServerProcess, type Environment } from '../../support/server-process.ts'
import { OPERATOR_KEY } from './http-writer.ts'

const SETTINGS = {
  EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
}

/** A server of the fault harness. It may end at any time, also before it is ready. */
export class FaultServer extends ServerProcess {
  constructor(directory: string, env: Environment = {}, nodeFlags: readonly string[] = []) {
    super(directory, { ...SETTINGS, ...env }, [], nodeFlags)
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** Waits until the server is ready or has ended. Returns its URL, or `undefined` if it has ended. */
  async urlIfReady(): Promise<string | undefined> {
    const url = await eventually(
      () => (this.hasEnded ? 'ended' : this.lines.find(({ msg }) => msg === 'ready')?.['url']),
      () => `the server is not ready: ${this.output}`,
    )
    return url === 'ended' ? undefined : String(url)
  }

  /** Sends SIGKILL. Returns whether the process still existed. */
  kill(): boolean {
    return this.child.kill('SIGKILL')
  }

  /** Throws if the server has ended in another way. */
  assertKilled(): void {
    if (this.child.signalCode !== 'SIGKILL') throw new Error(`The server ended by itself: ${this.output}`)
  }
}

import { readdir, readFile, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import { moduleUrl } from '../../support/repository.ts'
import { ServerProcess, type Environment } from '../../support/server-process.ts'

export const OPERATOR_KEY = 'the-key-of-the-fuzz-operator'

/** What a process that does nothing gains and loses between two readings. */
const SETTLED_BYTES = 262_144

/** What the server process holds while no request is running. */
export interface Resources {
  /** Bytes that are in use after a garbage collection, with those outside the heap. */
  readonly memory: number
  readonly sockets: number
  readonly descriptors: number
}

/** The real server in a process of its own, whose memory and descriptors can be read. */
export class Target {
  readonly server: ServerProcess
  readonly directory: string
  readonly port: number

  private constructor(server: ServerProcess, directory: string, port: number) {
    this.server = server
    this.directory = directory
    this.port = port
  }

  static async start(directory: string, settings: Environment): Promise<Target> {
    const env = {
      EVIDENCE_OPERATOR_KEY: OPERATOR_KEY,
      EVIDENCE_ADDRESS_LIMIT_PER_MINUTE: '0',
      EVIDENCE_LOG_LEVEL: 'info',
      FUZZ_MEMORY_FILE: join(directory, 'memory'),
      ...settings,
    }
    const probe = moduleUrl('test/faults/fuzz/memory-probe.ts').href
    const server = new ServerProcess(directory, env, [], ['--expose-gc', '--import', probe])
    const url = await server.ready()
    return new Target(server, directory, Number(new URL(url).port))
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Waits until at most `sockets` sockets are open, and reads what the process holds. */
  async resources(sockets: number): Promise<Resources> {
    const open = await eventually(
      async () => {
        const descriptors = await this.#descriptors()
        const openSockets = descriptors.filter((name) => name.startsWith('socket:')).length
        // A name without a target was closed meanwhile: the process is just closing what it held.
        return openSockets <= sockets && !descriptors.includes('') ? descriptors : undefined
      },
      () => `more than ${sockets} sockets stay open`,
    )
    return {
      memory: await this.#settledMemory(),
      sockets: open.filter((name) => name.startsWith('socket:')).length,
      descriptors: open.length,
    }
  }

  /** What is still being released is not counted: a busy machine takes seconds for it. */
  async #settledMemory(): Promise<number> {
    for (let before = Infinity; ; await setTimeout(1_000)) {
      const memory = await this.#memory()
      if (memory > before - SETTLED_BYTES) return memory
      before = memory
    }
  }

  async #memory(): Promise<number> {
    const path = join(this.directory, 'memory')
    await rm(path, { force: true })
    this.server.child.kill('SIGWINCH')
    const read = (): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined)
    const { child, output } = this.server
    return Number(
      await eventually(read, () => `no memory of ${child.exitCode}/${child.signalCode}: ${output.slice(-2_000)}`),
    )
  }

  async #descriptors(): Promise<readonly string[]> {
    const folder = `/proc/${this.server.child.pid}/fd`
    const names = await readdir(folder)
    return Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')))
  }

  stop(): Promise<number | null> {
    return this.server.stop('SIGKILL')
  }
}

import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { programArgs } from './repository.ts'
import { temporaryFor } from './temporary.ts'
import type { TestWitness } from './witness.ts'

type Settings = Partial<Pick<TestWitness, 'mode' | 'logKey'>>

/** A witness in a process of its own, which keeps what it cosigned last in a file. */
export class WitnessProcess {
  readonly name: string
  url = ''
  vkey = ''
  /** Submissions since it was started. */
  submissions = 0
  readonly #file: string
  #settings: Settings = {}
  #child: ChildProcess | undefined

  private constructor(name: string, file: string) {
    this.name = name
    this.#file = file
  }

  static async start(t: TestContext, name: string): Promise<WitnessProcess> {
    const witness = new WitnessProcess(name, join(await temporaryFor(t), 'checkpoint'))
    t.after(() => witness.#stop())
    await witness.#start()
    return witness
  }

  /** Changes how it responds from now on. */
  set(settings: Settings): void {
    this.#settings = { ...this.#settings, ...settings }
    this.#child?.send(settings)
  }

  /** The checkpoint that it cosigned last. */
  seen(): Promise<string> {
    return readFile(this.#file, 'utf8')
  }

  /** Starts it again with another checkpoint as the one that it cosigned last, or with none: it lost its state. */
  async restartWith(note?: string): Promise<void> {
    await this.#stop()
    await (note === undefined ? rm(this.#file) : writeFile(this.#file, note))
    await this.#start()
  }

  async #start(): Promise<void> {
    const port = this.url === '' ? '0' : new URL(this.url).port
    const args = [this.name, this.#file, port, JSON.stringify(this.#settings)]
    const child = spawn(process.execPath, [...programArgs('test/support/witness-program.ts'), ...args], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.submissions = 0
    this.#child = child.on('message', (message) => void Object.assign(this, message))
    await Promise.race([once(child, 'message'), once(child, 'exit')])
    assert.equal(child.exitCode, null, `${this.name} has ended`)
  }

  async #stop(): Promise<void> {
    if (this.#child?.kill('SIGKILL') === true) await once(this.#child, 'exit')
  }
}

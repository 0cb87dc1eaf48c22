import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { eventually } from './eventually.ts'
import { runCli, ServerProcess, type Environment, type Outcome } from './server-process.ts'
import { temporaryFor } from './temporary.ts'

const OPERATOR_KEY = 'the-key-of-the-operator'
export const OPERATOR_ENV = { EVIDENCE_OPERATOR_KEY: OPERATOR_KEY }
export const OPERATOR_HEADERS = { 'x-api-key': OPERATOR_KEY }

/** A registry in a data directory, with a running server. */
export class RunningRegistry {
  readonly directory: string
  readonly server: ServerProcess
  url = ''

  readonly #env: Environment

  private constructor(directory: string, env: Environment) {
    this.directory = directory
    this.#env = { ...OPERATOR_ENV, ...env }
    this.server = new ServerProcess(directory, this.#env)
  }

  /** Starts a server. Creates a registry in a new directory, unless `directory` names one that has a registry. */
  static async start(t: TestContext, directory?: string, env: Environment = {}): Promise<RunningRegistry> {
    const isNew = directory === undefined
    const registry = new RunningRegistry(directory ?? (await temporaryFor(t)), env)
    t.after(() => registry.server.stop('SIGKILL'))
    registry.url = await registry.server.ready()
    if (isNew) await registry.createCompany()
    return registry
  }

  async createCompany(): Promise<void> {
    const response = await fetch(`${this.url}/api/v1/sourceSystem/acme`, {
      method: 'POST',
      headers: { ...OPERATOR_HEADERS, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'first', apiKey: 'a-key-of-a-source-system', permissions: 'A' }),
    })
    assert.ok(response.ok, await response.text())
  }

  /** Creates an evidence with a file, which is large enough to be a blob. */
  async create(externalId: string, content = `content of ${externalId}\n`.repeat(400)): Promise<void> {
    const form = new FormData()
    const fields = { categoryName: 'Tools', subcategoryName: 'Drills', externalId, name: externalId }
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.set('images.items', new Blob([content], { type: 'text/plain' }), `${externalId}.txt`)
    const response = await fetch(`${this.url}/api/v1/evidences/acme/evidence`, {
      method: 'POST',
      body: form,
      headers: OPERATOR_HEADERS,
    })
    assert.ok(response.ok, await response.text())
  }

  async has(externalId: string): Promise<boolean> {
    const response = await fetch(`${this.url}/api/v1/evidences/acme/evidence/${externalId}`, {
      headers: OPERATOR_HEADERS,
    })
    await response.arrayBuffer()
    return response.status === 200
  }

  /** Waits until an anchor that covers this evidence is confirmed. */
  async anchored(externalId: string): Promise<void> {
    const url = `${this.url}/api/v1/evidences/acme/evidence/${externalId}`
    const isAnchored = async (): Promise<true | undefined> =>
      (await (await fetch(url, { headers: OPERATOR_HEADERS })).text()).includes('"merkleSendStatus":"C"') || undefined
    await eventually(isAnchored, () => `${externalId} is not anchored`)
  }

  backup(to: string, ...flags: readonly string[]): Promise<Outcome> {
    return runCli(['backup', '--to', to, '--data-dir', this.directory, ...flags], this.#env)
  }
}

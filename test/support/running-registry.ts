import type { TestContext } from 'node:test'
import { createClient, EvidenceRegistryError, type Client } from '../../server/client/index.ts'
import { BASE_PATH } from '../../server/index.ts'
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
    if (isNew) await registry.client.createSourceSystem({ name: 'first' })
    return registry
  }

  /** Calls of the operator, each sent once. */
  get client(): Client {
    return createClient({
      baseUrl: `${this.url}${BASE_PATH}`,
      companyId: 'acme',
      apiKey: OPERATOR_KEY,
      retry: { retries: 0 },
    })
  }

  /** Creates an evidence with a file, which is large enough to be a blob. */
  async create(externalId: string, content = `content of ${externalId}\n`.repeat(400)): Promise<void> {
    const names = { categoryName: 'Tools', subcategoryName: 'Drills', externalId, name: externalId }
    await this.client.createEvidence({ ...names, images: [{ name: `${externalId}.txt`, content }] })
  }

  async has(externalId: string): Promise<boolean> {
    try {
      await this.client.getEvidence({ externalId })
      return true
    } catch (error) {
      if (error instanceof EvidenceRegistryError && error.code === 'EVIDENCE_NOT_FOUND') return false
      throw error
    }
  }

  /** Waits until an anchor that covers this evidence is confirmed. */
  async anchored(externalId: string): Promise<void> {
    const isAnchored = async (): Promise<boolean> =>
      (await this.client.getEvidence({ externalId })).events[0]?.merkleSendStatus === 'C'
    await eventually(isAnchored, () => `${externalId} is not anchored`)
  }

  backup(to: string, ...flags: readonly string[]): Promise<Outcome> {
    return runCli(['backup', '--to', to, '--data-dir', this.directory, ...flags], this.#env)
  }
}

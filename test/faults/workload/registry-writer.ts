import { OPERATOR, type Registry, type Scope } from '../../../core/index.ts'
import { COMPANY } from './http-writer.ts'
import { contentOf, type SentFile, type Step } from './model.ts'

const SCOPE: Scope = { companyId: COMPANY, principal: OPERATOR }
const MAX_BYTES = 1_000_000

/** Creates the company of the load. */
export async function createCompany(registry: Registry): Promise<void> {
  await registry.sourceSystems.create(SCOPE, { name: 'first' })
}

/** Returns a function that performs the writes of a load on an open registry. */
export const registryWriter =
  (registry: Registry) =>
  async (externalId: string, step: Step): Promise<void> => {
    const { evidences, files } = registry
    if (step.kind === 'delete-file') {
      const { evidence } = await evidences.files(SCOPE, externalId)
      const fileId = evidence.find(({ name }) => name === step.name)?.id ?? ''
      await files.delete(SCOPE, { fileId })
      return
    }
    const stage = (file: SentFile) =>
      files.stage(
        SCOPE,
        { name: file.name, mimeType: 'application/octet-stream', body: bodyOf(file) },
        { maxBytes: MAX_BYTES },
      )
    const staged = await Promise.all(step.files.map(stage))
    const content = { summary: step.summary, files: staged }
    if (step.kind === 'update') return void (await evidences.update(SCOPE, externalId, content))
    const names = { category: { name: 'Tools' }, subcategory: { name: 'Drills' }, name: externalId }
    await evidences.create(SCOPE, { ...names, externalId, ...content })
  }

async function* bodyOf(file: SentFile): AsyncGenerator<Uint8Array, void, undefined> {
  yield contentOf(file)
}

import {
  canonicalJson,
  isRegistryError,
  type Disclosure,
  type NewEvidence,
  type Registry,
  type Scope,
  type SubcategoryPath,
} from '../../core/index.ts'

/** What the registry has under the external id of a line: nothing, an evidence that was created from it, or another. */
export type ExistingEvidence = 'absent' | 'same' | 'different'

/**
 * Compares a line with the first event of the evidence that has its external id. Later changes of the evidence do not
 * count. `path` is the category of the line, `undefined` if it does not exist.
 */
export async function findExisting(
  registry: Registry,
  scope: Scope,
  input: NewEvidence,
  path: SubcategoryPath | undefined,
): Promise<ExistingEvidence> {
  const page = await registry.evidences
    .get(scope, input.externalId, { limit: 1, disclose: true })
    .catch((error: unknown) => {
      if (isRegistryError(error, 'EVIDENCE_NOT_FOUND')) return undefined
      throw error
    })
  if (page === undefined) return 'absent'
  const disclosure = page.events[0]?.disclosure
  return path !== undefined && disclosure !== undefined && isCreatedFrom(disclosure, input, path) ? 'same' : 'different'
}

/** Compares the texts that the first event commits to, which no later change affects. */
function isCreatedFrom({ fields }: Disclosure, input: NewEvidence, path: SubcategoryPath): boolean {
  const { name, owner, description, summary, meta } = input
  const values = { ...path, name, owner, description, summary, meta }
  return Object.entries(values).every(([field, value]) => {
    const expected = value === undefined || value === '' ? undefined : canonicalJson([field, value])
    return fields[field]?.text === expected
  })
}

import {
  isRegistryError,
  RegistryError,
  type NewEvidence,
  type Registry,
  type Scope,
  type SubcategoryPath,
} from '../../core/index.ts'
import { isCreatedFrom } from '../import/created-from.ts'

/**
 * Whether there is an evidence that was created from a line. Compares the line with the first event of the evidence
 * that has its external id: later changes do not count. `path` is the category of the line, `undefined` if it does not
 * exist.
 *
 * @throws RegistryError `EXTERNAL_ID_EXISTS` if there is another one
 */
export async function isPresent(
  registry: Registry,
  scope: Scope,
  input: NewEvidence,
  path: SubcategoryPath | undefined,
): Promise<boolean> {
  const page = await registry.evidences
    .get(scope, input.externalId, { limit: 1, disclose: true })
    .catch((error: unknown) => {
      if (isRegistryError(error, 'EVIDENCE_NOT_FOUND')) return undefined
      throw error
    })
  if (page === undefined) return false
  const disclosure = page.events[0]?.disclosure
  if (path !== undefined && disclosure !== undefined && isCreatedFrom(disclosure, input, path)) return true
  throw externalIdInUse(input)
}

/** The error of a line whose external id has other values. */
export const externalIdInUse = ({ externalId }: NewEvidence): RegistryError =>
  new RegistryError(
    'EXTERNAL_ID_EXISTS',
    `externalId ${JSON.stringify(externalId)} is in use for an evidence with other values`,
  )

import type { CategorySelector, NewEvidence } from '../../api/evidences.ts'
import { invalidInput, metaText, validate } from '../../schemas/validation.ts'
import { newEvidenceSchema } from './input.ts'

/**
 * Throws the `VALIDATION_ERROR` that `evidences.create` throws for this input, whatever the registry contains. For
 * programs that check inputs before they send them, or before `createMany`, which refuses all of them for one.
 *
 * @example
 * assertNewEvidence({ externalId: 'VIN-1', name: 'Golf', category: { name: 'Vehicles' }, subcategory: { name: '' } })
 * // throws VALIDATION_ERROR: subcategory.name must be …
 */
export function assertNewEvidence(input: unknown): asserts input is NewEvidence {
  const { meta, category, subcategory } = validate(newEvidenceSchema, input)
  if (meta !== undefined) metaText(meta)
  assertSelected('category', category)
  assertSelected('subcategory', subcategory)
}

function assertSelected(field: string, { id, name }: CategorySelector): void {
  if (id === undefined && name === undefined) throw invalidInput(field, 'is required: give its id or its name')
}

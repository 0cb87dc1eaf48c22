import { canonicalJson } from '../../core/verify/index.ts'
import type { EvidenceInput } from '../client/index.ts'

/** The texts that the first event of an evidence commits to, which no later change affects. */
type CommittedTexts = { readonly [field: string]: { readonly text: string } | undefined }

/** Whether an evidence was created with these values in this subcategory. */
export function isCreatedFrom(
  { fields }: { readonly fields: CommittedTexts },
  { name, owner, description, summary, meta }: Omit<EvidenceInput, 'externalId'>,
  { categoryId, subcategoryId }: { readonly categoryId: string; readonly subcategoryId: string },
): boolean {
  const values = { categoryId, subcategoryId, name, owner, description, summary, meta }
  return Object.entries(values).every(([field, value]) => {
    const expected = value === undefined || value === '' ? undefined : canonicalJson([field, value])
    return fields[field]?.text === expected
  })
}

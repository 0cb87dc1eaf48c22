import type { NewEvidences, Registry, Scope } from '../../core/index.ts'

type BulkEvidence = NewEvidences['evidences'][number]

/** Evidences `NAME0`, `NAME1`, … with these values. */
export const numbered = (name: string, count: number, values: Partial<BulkEvidence> = {}): readonly BulkEvidence[] =>
  Array.from({ length: count }, (_, i) => ({ name, ...values, externalId: `${name}${i}` }))

/** Creates any number of evidences in a new subcategory, and returns its ids. */
export async function createMany(registry: Registry, scope: Scope, evidences: readonly BulkEvidence[]) {
  const { id: categoryId } = await registry.categories.create(scope, { name: 'Many' })
  const { id: subcategoryId } = await registry.categories.create(scope, { name: 'Many' }, { parent: categoryId })
  for (let i = 0; i < evidences.length; i += 1_000)
    await registry.evidences.createMany(scope, { categoryId, subcategoryId, evidences: evidences.slice(i, i + 1_000) })
  return { categoryId, subcategoryId }
}

import type { Key, Write } from '../ports/index.ts'
import { keys } from './keys.ts'
import type { EvidenceRecord } from './records.ts'

/**
 * The indexes in which an evidence is found. They follow from its record alone, so every write that changes the record
 * writes them in the same commit, and fsck and an upgrade derive them again.
 */

/** The key of an evidence in each index. Each one ends with the evidence's id and has an empty value. */
export function indexKeysOf(evidence: EvidenceRecord): readonly Key[] {
  const { id, company, subcategoryId, externalId, owner, stolen, lastAt } = evidence
  return [
    keys.evidenceIn('company', company, id),
    keys.evidenceIn('subcategory', subcategoryId, id),
    keys.externalIdIndex(company, externalId, id),
    keys.updateIndex(company, lastAt, id),
    ...(owner === undefined ? [] : [keys.ownerIndex(company, foldCase(owner), id)]),
    ...(stolen ? [keys.evidenceIn('stolen', company, id)] : []),
  ]
}

/**
 * The writes that bring the indexes from one state of an evidence to the next.
 *
 * @param before - `undefined` for a new evidence
 */
export function indexWrites(before: EvidenceRecord | undefined, after: EvidenceRecord): readonly Write[] {
  const newKeys = indexKeysOf(after)
  if (before === undefined) return newKeys.map(added)
  const oldKeys = indexKeysOf(before)
  return [
    ...newKeys.filter((key) => !oldKeys.includes(key)).map(added),
    ...oldKeys.filter((key) => !newKeys.includes(key)).map((key) => ({ key, value: null })),
  ]
}

const NO_VALUE = new Uint8Array()
const added = (key: Key): Write => ({ key, value: NO_VALUE })

/**
 * A text with folded case, so that two texts that differ only in case become equal. `ß`, `ẞ` and `ss` become equal, and
 * so do `Σ`, `σ` and `ς`.
 */
export const foldCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase()

import type { Key, Write } from '../ports/index.ts'
import { keys } from './keys.ts'
import { encodeListed, listedKey } from './listed-evidence.ts'
import type { EvidenceRecord } from './records.ts'

/**
 * The indexes in which an evidence is found. They follow from its record alone, so every write that changes the record
 * writes them in the same commit, and fsck derives them again.
 */

/** The entry of an evidence in an index. Its key ends with the evidence's id. */
export type IndexEntry = Write & { readonly value: Uint8Array }

/**
 * The entries of an evidence. The one in the list of its company has what lists show as its value, so that a page of it
 * is read in one go. The others have an empty value.
 */
export const indexEntriesOf = (evidence: EvidenceRecord): readonly IndexEntry[] => [
  { key: listedKey(evidence.company, evidence.id), value: encodeListed(evidence) },
  ...otherKeysOf(evidence).map((key) => ({ key, value: NO_VALUE })),
]

function otherKeysOf({
  id,
  company,
  categoryId,
  subcategoryId,
  externalId,
  owner,
  stolen,
  lastAt,
}: EvidenceRecord): readonly Key[] {
  return [
    keys.evidenceIn(['category', categoryId, subcategoryId], id),
    keys.externalIdIndex(company, externalId, id),
    keys.updateIndex(company, lastAt, id),
    ...(owner === undefined ? [] : [keys.ownerIndex(company, foldCase(owner), id)]),
    ...(stolen ? [keys.evidenceIn(['stolen', company], id)] : []),
  ]
}

/**
 * The writes that bring the indexes from one state of an evidence to the next.
 *
 * @param before - `undefined` for a new evidence
 */
export function indexWrites(before: EvidenceRecord | undefined, after: EvidenceRecord): readonly Write[] {
  const entries = indexEntriesOf(after)
  if (before === undefined) return entries
  const oldKeys = otherKeysOf(before)
  const newKeys = entries.map(({ key }) => key)
  return [
    ...entries.filter(({ key }) => !oldKeys.includes(key)),
    ...oldKeys.filter((key) => !newKeys.includes(key)).map((key) => ({ key, value: null })),
  ]
}

const NO_VALUE = new Uint8Array()

/**
 * A text with folded case, so that two texts that differ only in case become equal. `ß`, `ẞ` and `ss` become equal, and
 * so do `Σ`, `σ` and `ς`.
 */
export const foldCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase()

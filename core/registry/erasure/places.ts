import type { Key } from '../../ports/index.ts'

/**
 * The families of records that hold text of evidences, and what an erasure does with their entries: `rewritten` without
 * the text, or `removed`, because the key itself holds the text. A store of text joins this table. Outside the records,
 * text is in the bytes of files, which `destroy` deletes, and in the memory of servers: replies are kept with the
 * version of the evidence's record, and `evidenceIds` is compared with the record.
 */
export const PLACES: ReadonlyMap<string, 'rewritten' | 'removed'> = new Map([
  // Evidences with their first events, later events, and files with their names and small contents.
  ['ev', 'rewritten'],
  ['vh', 'rewritten'],
  ['fi', 'rewritten'],
  // External ids in a company and in all companies, owners, and words of the search.
  ['ex', 'removed'],
  ['ep', 'removed'],
  ['ow', 'removed'],
  ['wo', 'removed'],
  // Idempotency keys and when they expire: they name the external id.
  ['ik', 'removed'],
  ['it', 'removed'],
])

/** What an erasure does with the entry under a key. */
export const placeOf = (key: Key): 'rewritten' | 'removed' | undefined => PLACES.get(key.slice(0, key.indexOf('/')))

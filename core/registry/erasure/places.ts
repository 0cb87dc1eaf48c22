import type { Key } from '../../ports/index.ts'

/** What an erasure does with an entry. */
export type Place = 'rewritten' | 'removed' | 'hashed'

/**
 * The families of records that hold text of evidences, and what an erasure does with their entries: `rewritten` without
 * the text, or `removed`, because the key itself holds the text. `hashed` entries are removed, too, but their keys hold
 * only a keyed hash. A store of text joins this table. Idempotency records hold ids, and hashes under a secret outside
 * the store. The record of a pending erasure names the keys, until these and then its own old values are erased.
 * Outside the records, text is in the bytes of files, which `destroy` deletes, and in the memory of servers: replies
 * are kept with the version of the evidence's record, and `evidenceIds` is compared with the record.
 */
export const PLACES: ReadonlyMap<string, Place> = new Map<string, Place>([
  // Evidences with their first events, later events, and files with their names and small contents.
  ['ev', 'rewritten'],
  ['vh', 'rewritten'],
  ['fi', 'rewritten'],
  // External ids in a company and in all companies, words of the search, and owners.
  ['ex', 'removed'],
  ['ep', 'removed'],
  ['wo', 'removed'],
  ['ow', 'hashed'],
  // Subjects that are being erased: the record goes when that is done, and its key holds no text.
  ['eu', 'rewritten'],
])

/** What an erasure does with the entry under a key. */
export const placeOf = (key: Key): Place | undefined => PLACES.get(key.slice(0, key.indexOf('/')))

import { encodeUtf8, sha256, toHex } from '../bytes.ts'
import type { Key, Range } from '../ports.ts'

/**
 * Record keys. A key is a tuple of parts joined by `/`. Text parts are percent-encoded over their UTF-8 bytes with
 * only `A-Z a-z 0-9 . _ -` left as they are, so no part holds a `/` and none can run into its neighbour; numbers are 14
 * hex digits, so that they sort. The first part names the family; each family is one line below.
 *
 * A part that would be longer than `MAX_PART` is `~` and its SHA-256 instead: a name of 256 characters takes up to 3,072
 * when encoded, and a store takes keys of 2,048. So any text has a key, also one from a query that was never checked.
 */
const MAX_PART = 400
const plain = /^[A-Za-z0-9._-]*$/

function text(part: string): string {
  if (plain.test(part)) return part.length > MAX_PART ? hashed(part) : part
  let out = ''
  for (const byte of Buffer.from(part, 'utf8')) {
    const char = String.fromCharCode(byte)
    out += byte < 128 && plain.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    if (out.length > MAX_PART) return hashed(part)
  }
  return out
}

const hashed = (part: string): string => `~${toHex(sha256(encodeUtf8(part)))}`

const number = (value: number): string => value.toString(16).padStart(14, '0')

function key(family: string, ...parts: readonly (string | number)[]): Key {
  let out = family
  for (const part of parts) out += '/' + (typeof part === 'number' ? number(part) : text(part))
  return out
}

/** Every key that begins with these parts, whole. */
function under(prefix: Key): Range {
  return { gte: `${prefix}/`, lt: `${prefix}0` }
}

export type EvidenceScope = 'company' | 'category' | 'subcategory'

export const keys = {
  key,
  under,
  // -- the registry itself
  operator: (): Key => 'op',
  /** There while the store is being filled from another one: until then nobody serves from it. */
  filling: (): Key => 'mg',
  // -- companies and source systems
  company: (company: string): Key => key('co', company),
  sourceSystem: (company: string, id: string): Key => key('ss', company, id),
  sourceSystems: (company: string): Range => under(key('ss', company)),
  sourceSystemName: (company: string, name: string): Key => key('sn', company, name),
  /** `mac`: HMAC of company and key, hex. */
  apiKey: (mac: string): Key => key('sk', mac),
  // -- categories and subcategories
  category: (company: string, id: string): Key => key('ca', company, id),
  categories: (company: string): Range => under(key('ca', company)),
  categoryName: (company: string, name: string): Key => key('cn', company, name),
  subcategory: (company: string, id: string): Key => key('su', company, id),
  subcategoryOf: (category: string, id: string): Key => key('so', category, id),
  subcategoriesOf: (category: string): Range => under(key('so', category)),
  subcategoryName: (category: string, name: string): Key => key('sx', category, name),
  /** Counter: subcategories that are not removed. */
  subcategoryCount: (category: string): Key => key('sc', category),
  // -- evidences
  evidence: (id: string): Key => key('ev', id),
  /** Holds the evidence's id; its range over all companies is what the public endpoints look up. */
  externalId: (externalId: string, company: string): Key => key('ex', externalId, company),
  externalIds: (externalId: string): Range => under(key('ex', externalId)),
  /** Lists by id, within a company, category or subcategory. */
  evidenceIn: (kind: EvidenceScope, scope: string, id: string): Key => key('el', kind, scope, id),
  evidencesIn: (kind: EvidenceScope, scope: string): Range => under(key('el', kind, scope)),
  /** Counter. */
  evidenceCount: (kind: EvidenceScope, scope: string): Key => key('ec', kind, scope),
  event: (evidence: string, version: number): Key => key('vh', evidence, version),
  /** Holds the opening and where the event is. */
  transaction: (txId: string): Key => key('tx', txId),
  // -- files
  file: (id: string): Key => key('fi', id),
  /** Files by owner: an evidence, a category or a subcategory. */
  fileOf: (owner: string, id: string): Key => key('fo', owner, id),
  filesOf: (owner: string): Range => under(key('fo', owner)),
  /** A blob that is about to be put and not yet used. */
  blobIntent: (blob: string): Key => key('bi', blob),
  blobIntents: (): Range => under('bi'),
  /** A blob whose bytes are to be destroyed. */
  pendingDeletion: (blob: string): Key => key('bd', blob),
  pendingDeletions: (): Range => under('bd'),
  // -- idempotency
  idempotency: (company: string, actor: string, route: string, idempotencyKey: string): Key =>
    key('ik', company, actor, route, idempotencyKey),
  /** By expiry, for the sweep; holds the key of the record that expires. */
  idempotencyExpiry: (expires: number, id: string): Key => key('it', expires, id),
  idempotencyExpired: (before: number): Range => ({ gte: 'it/', lt: key('it', before) }),
  // -- the log (core/log)
  logIdentity: (): Key => 'lg',
  /** The opening of a log entry that is no event: a key's or a token's. `entry`: hex. */
  controlOpening: (entry: string): Key => key('oe', entry),
  /** The tree's head: size, root. A batch's commit checks it. */
  treeHead: (): Key => 'th',
  /** Which of several sealers works. */
  sealerLease: (): Key => 'sl',
  tile: (level: number, index: number): Key => key('ti', level, index),
  /** Batches by the size of the tree at their end, so that the first at or beyond `position + 1` holds it. */
  batch: (treeSize: number): Key => key('ba', treeSize),
  batchesFrom: (treeSize: number): Range => ({ gte: key('ba', treeSize), lt: 'ba0' }),
  batchById: (id: string): Key => key('bx', id),
  /** Where a root was sealed; holds the same as `batchById`. */
  batchByRoot: (root: string): Key => key('br', root),
  checkpoint: (treeSize: number): Key => key('cp', treeSize),
  checkpoints: (): Range => under('cp'),
  /** Stamps by the size of the checkpoint they are for. */
  stamp: (treeSize: number): Key => key('st', treeSize),
  stampsFrom: (treeSize: number): Range => ({ gte: key('st', treeSize), lt: 'st0' }),
  /** Stamps that have no quorum yet, or never got one. */
  partialStamp: (treeSize: number): Key => key('sp', treeSize),
  partialStamps: (): Range => under('sp'),
  /** DER of what was kept with a token, by its SHA-256 in hex: many tokens share it. */
  validationData: (hash: string): Key => key('te', hash),
  allValidationData: (): Range => under('te'),
  anchor: (treeSize: number): Key => key('an', treeSize),
  anchorsFrom: (treeSize: number): Range => ({ gte: key('an', treeSize), lt: 'an0' }),
  /** Confirmed anchors that no larger one in the same or a lower block makes needless. */
  confirmedAnchor: (treeSize: number): Key => key('ac', treeSize),
  confirmedAnchorsFrom: (treeSize: number): Range => ({ gte: key('ac', treeSize), lt: 'ac0' }),
  /** The largest confirmed and the largest live sent anchor sizes, and which is outstanding. */
  anchorHead: (): Key => 'ah',
} as const

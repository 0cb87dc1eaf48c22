import { logKeys } from '../log/keys.ts'
import type { Stored, Key, Range } from '../ports/index.ts'
import { eventInRecord } from '../store/evidence.ts'
import {
  keys,
  isInRange,
  onlyKey,
  partsOfKey,
  type RecordKey,
  type RecordRange,
  type StoredRecord,
} from '../store/keys.ts'
import { decodeRecord } from '../store/codec.ts'
import type { DeletedFileRecord, FileRecord } from '../store/records.ts'
import { type Check, KEY_RANGES, differenceKindOf } from './check.ts'
import { expectDerived } from './derived.ts'

/** A record to which another one refers. It must exist. */
interface Reference {
  readonly key: Key
  /** Whether it is what the other record says. */
  readonly fits?: (entry: Stored) => boolean
}

const referTo = <T>(key: RecordKey<T>, fits: (entry: StoredRecord<T>) => boolean): Reference => ({ key, fits })

/** Records that do not follow from others. */
interface Family {
  readonly range: Range
  /** Throws for a record that cannot be read, or is stored under the key of another one. */
  referencesOf(record: Stored): readonly Reference[]
}

/** The parts of its key, without the family. */
type Parts = readonly string[]

const family = <T extends object>(
  range: RecordRange<T>,
  refersTo: (record: T, ...parts: Parts) => readonly Reference[] = () => [],
): Family => ({
  range,
  referencesOf: (entry: StoredRecord<T>) => refersTo(decodeRecord(entry), ...partsOfKey(entry.key).slice(1)),
})

/** As `family`, of records whose keys end with their ids. */
const familyById = <T extends { readonly id: string }>(
  range: RecordRange<T>,
  refersTo: (record: T, ...parts: Parts) => readonly Reference[],
): Family =>
  family(range, (record, ...parts) => {
    if (record.id !== parts.at(-1)) throw new TypeError('it is stored under another id')
    return refersTo(record, ...parts)
  })

const FAMILIES: readonly Family[] = [
  family(logKeys.batches()),
  family(logKeys.anchors()),
  family(onlyKey(logKeys.confirmedUses())),
  family(onlyKey(keys.operator())),
  family(onlyKey(keys.blobStore())),
  family(keys.companies()),
  familyById(keys.allSourceSystems(), (_, company) => [{ key: keys.company(company) }]),
  family(keys.allLastUses(), (_, company, id) => [{ key: keys.sourceSystem(company, id) }]),
  familyById(keys.allAudit(), (record, _, company) => [
    { key: keys.company(company) },
    ...('systemId' in record ? [{ key: keys.sourceSystem(company, record.systemId) }] : []),
  ]),
  familyById(keys.allCategories(), ({ id, parentId, imageId }, company) => [
    ...(parentId === undefined ? [] : [categoryIn(company, undefined, parentId)]),
    ...(imageId === undefined ? [] : [fileOf(id, imageId)]),
  ]),
  family(keys.evidences(), ({ company, categoryId, subcategoryId }) => [
    categoryIn(company, undefined, categoryId),
    categoryIn(company, categoryId, subcategoryId),
  ]),
  family(keys.laterEvents(), ({ version }, company, id = '') => [
    referTo(keys.evidence(company, id), (entry) => decodeRecord(entry).lastVersion >= version),
  ]),
  familyById(keys.files(), (file) => [ownerOf(file)]),
  family(keys.blobIntents()),
  family(keys.pendingDeletions()),
  family(keys.pendingErasures()),
  family(keys.allIdempotency()),
]

const categoryIn = (company: string, parent: string | undefined, id: string): Reference =>
  referTo(keys.category(company, id), (entry) => decodeRecord(entry).parentId === parent)

const fileOf = (owner: string, id: string): Reference =>
  referTo(keys.file(id), (entry) => decodeRecord(entry).ownerId === owner)

/** The event that attached a file to its evidence, or the category of a file. */
function ownerOf({ id, company, ownerKind, ownerId, version }: FileRecord | DeletedFileRecord): Reference {
  if (ownerKind === 'category') return referTo(keys.category(company, ownerId), () => version === 0)
  if (ownerKind !== 'evidence') throw new TypeError('its owner is neither an evidence nor a category')
  return referTo(keys.event(company, ownerId, version), (entry) => {
    const { files, erased } = eventInRecord(entry)
    return Object.hasOwn(files, id) || Object.hasOwn(erased?.files ?? {}, id)
  })
}

/** Checks to what all records refer that do not follow from others, except evidences (`checkEvidences`). */
export async function checkRecords(check: Check): Promise<void> {
  for (const { range } of FAMILIES) {
    if (isInRange(keys.evidences().gte, range)) continue
    for await (const page of check.pages(range)) {
      await checkRecordPage(check, page)
      check.progress('indexes', page.length)
    }
  }
}

/** Checks to which records these refer, and what follows from them. */
export async function checkRecordPage(check: Check, page: readonly Stored[]): Promise<void> {
  await checkReferences(check, page)
  await expectDerived(check, page)
}

async function checkReferences(check: Check, page: readonly Stored[]): Promise<void> {
  const references = page.flatMap((record) => {
    const { key: from } = record
    const owner = FAMILIES.find(({ range }) => isInRange(from, range))
    const found = check.guard(differenceKindOf(from), from, () => owner?.referencesOf(record)) ?? []
    return found.map((reference) => ({ from, ...reference }))
  })
  const wanted = [...new Set(references.map(({ key }) => key))]
  const entries = new Map((await check.records.get(wanted)).map((entry, i) => [wanted[i], entry]))
  for (const { from, key, fits } of references) {
    const entry = entries.get(key)
    if (entry === undefined) check.reportMissing(key, from)
    else if (check.guard(differenceKindOf(from), from, () => fits?.(entry)) === false)
      check.report(differenceKindOf(from), from, `It refers to ${key}, which does not say so`)
  }
}

/** Reports every record whose key is between the families. */
export async function checkUnknownKeys(check: Check): Promise<void> {
  let from = ''
  for (const { gte, lt } of [...KEY_RANGES, { gte: '\x7f', lt: '' }]) {
    for await (const { key } of check.records.list({ gte: from, lt: gte }))
      check.report('unknown', key, 'No part of the registry keeps such a record')
    from = lt
  }
}

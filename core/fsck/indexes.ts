import { encodeUtf8, equalBytes, sha256, toHex } from '../bytes.ts'
import { logKeys } from '../log/keys.ts'
import type { BatchIndexRecord, BatchRecord } from '../log/records.ts'
import type { Key, Range } from '../ports/index.ts'
import { partsOfKey } from '../store/key.ts'
import { eventInRecord } from '../store/events.ts'
import { keys } from '../store/keys.ts'
import { encodeRecord } from '../store/record-codec.ts'
import type {
  CategoryRecord,
  DeletedFileRecord,
  EvidenceRecord,
  FileRecord,
  IdempotencyExpiryRecord,
  IdempotencyRecord,
} from '../store/records.ts'
import { staleIf, type Check } from './check.ts'
import { FAMILIES } from './kinds.ts'
import { checkEvidenceListings, checkSearchIndexes } from './listings.ts'

/** Checks the records that only refer to others: that they refer to a record that exists and says the same. */
export async function checkIndexes(check: Check): Promise<void> {
  await checkExternalIds(check)
  await checkEvidenceListings(check)
  await checkSearchIndexes(check)
  await checkBatchIndex(check, logKeys.batchIds(), ({ id }) => logKeys.batchById(id))
  await checkBatchIndex(check, logKeys.batchRoots(), ({ root }) => logKeys.batchByRoot(root))
  await checkFileRecords(check)
  await checkFileListings(check)
  await checkUnknownKeys(check)
  await checkUnreferenced(check)
  await checkIdempotency(check)
}

async function checkExternalIds(check: Check): Promise<void> {
  for await (const page of check.pages(keys.allExternalIds())) {
    const ids = page.map((entry) => check.decode<{ readonly id: string }>('index', entry)?.id)
    const evidences = await check.records.get(ids.map((id) => keys.evidence(String(id))))
    for (const [i, { key }] of page.entries()) {
      const evidence = check.decode<EvidenceRecord>('evidence', evidences[i])
      const isRight =
        evidence !== undefined &&
        check.guard('index', key, () => keys.externalId(evidence.externalId, evidence.company)) === key
      const message = 'It does not refer to an evidence with this external id'
      check.expectDerived(isRight, { kind: 'index', key, message, repair: null })
    }
    check.progress('indexes', page.length)
  }
}

async function checkBatchIndex(check: Check, range: Range, keyOf: (batch: BatchRecord) => Key): Promise<void> {
  for await (const page of check.pages(range))
    for (const entry of page) {
      const index = check.decode<BatchIndexRecord>('index', entry)
      const batch = await check.read<BatchRecord>('batch', logKeys.batch(index?.end ?? 0))
      const isRight = batch !== undefined && keyOf(batch) === entry.key
      const message = 'It does not refer to this batch'
      check.expectDerived(isRight, { kind: 'index', key: entry.key, message, repair: null })
    }
}

/** Each file has the owner that it names. The owners' checks look only at files that exist. */
async function checkFileRecords(check: Check): Promise<void> {
  for await (const page of check.pages(keys.files())) {
    for (const entry of page) {
      const file = check.decode<FileRecord | DeletedFileRecord>('file', entry)
      if (file === undefined) continue
      check.expect(keys.file(file.id) === entry.key, 'file', entry.key, 'It is stored under another id')
      await (file.ownerKind === 'evidence' ? expectInEvent(check, file) : expectInCategory(check, file))
      const listing = keys.fileOf(file.ownerId, file.id)
      const isListed = (await check.get(listing)) !== undefined
      const isDeleted = 'deletion' in file
      check.expectDerived(isListed !== isDeleted, {
        kind: 'index',
        key: listing,
        message: 'A file must be listed until it is deleted',
        repair: isDeleted ? null : new Uint8Array(),
      })
    }
    check.progress('indexes', page.length)
  }
}

async function expectInEvent(check: Check, file: FileRecord | DeletedFileRecord): Promise<void> {
  const { ownerId, version } = file
  const key = keys.event(ownerId, version)
  const entry = await check.get(key)
  const event = entry && check.guard('event', key, () => eventInRecord(entry, version))
  const isInEvent =
    event !== undefined && (Object.hasOwn(event.files, file.id) || Object.hasOwn(event.erased?.files ?? {}, file.id))
  check.expect(isInEvent, 'file', keys.file(file.id), 'No event attached it')
}

async function expectInCategory(check: Check, { id, company, ownerKind, ownerId, version }: FileRecord): Promise<void> {
  const owner = await check.read<CategoryRecord>('category', keys.category(company, ownerId))
  check.expect(
    owner?.id === ownerId && ownerKind === 'category' && version === 0,
    'file',
    keys.file(id),
    'It is not a file of a category',
  )
}

async function checkFileListings(check: Check): Promise<void> {
  for await (const page of check.pages(keys.allFileListings())) {
    const files = await check.records.get(page.map(({ key }) => keys.file(partsOfKey(key)[2] ?? '')))
    for (const [i, { key }] of page.entries()) {
      const file = check.decode<FileRecord | DeletedFileRecord>('file', files[i])
      const isRight = file !== undefined && keys.fileOf(file.ownerId, file.id) === key
      check.expectDerived(isRight, {
        kind: 'index',
        key,
        message: 'It does not list a file of this owner',
        repair: staleIf(file),
      })
    }
    check.progress('indexes', page.length)
  }
}

/** Reports every record whose key is between the families. */
async function checkUnknownKeys(check: Check): Promise<void> {
  let from = ''
  for (const { gte, lt } of [...FAMILIES, { gte: '\x7f', lt: '' }]) {
    for await (const { key } of check.records.list({ gte: from, lt: gte }))
      check.report('unknown', key, 'No part of the registry keeps such a record')
    from = lt
  }
}

/** Families whose records refer to no other record: these must only be readable. */
const UNREFERENCED: readonly Range[] = [
  keys.companies(),
  keys.pendingDeletions(),
  keys.pendingErasures(),
  keys.blobIntents(),
  keys.idempotencyExpiries(),
]

async function checkUnreferenced(check: Check): Promise<void> {
  for (const range of UNREFERENCED)
    for await (const page of check.pages(range)) for (const entry of page) check.decode('index', entry)
}

/** Each idempotency record has an expiry record, without which it would never be removed. */
async function checkIdempotency(check: Check): Promise<void> {
  for await (const page of check.pages(keys.allIdempotency())) {
    for (const entry of page) {
      const record = check.decode<IdempotencyRecord>('index', entry)
      if (record === undefined) continue
      if (Number.isSafeInteger(record.expires)) await expectExpiry(check, entry.key, record.expires)
      else check.report('index', entry.key, 'It does not say when it expires')
    }
    check.progress('indexes', page.length)
  }
}

async function expectExpiry(check: Check, key: Key, expires: number): Promise<void> {
  const value = encodeRecord({ key } satisfies IdempotencyExpiryRecord)
  for await (const expiry of check.records.list(keys.idempotencyExpiriesAt(expires)))
    if (equalBytes(expiry.value, value)) return
  check.expectDerived(false, {
    kind: 'index',
    // The last part may be anything that no other record has.
    key: keys.idempotencyExpiry(expires, toHex(sha256(encodeUtf8(key)))),
    message: `The record that says when ${key} expires is missing`,
    repair: value,
  })
}

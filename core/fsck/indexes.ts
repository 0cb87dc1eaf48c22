import { equalBytes, fromHex } from '../bytes.ts'
import { countOf } from '../store/counter.ts'
import { keys, registryKeyRanges, type EvidenceScope } from '../store/keys.ts'
import { logKeyRanges, logKeys } from '../log/keys.ts'
import { entryOf } from '../commitment/log-entry.ts'
import type { BatchIndexRecord, BatchRecord } from '../log/records.ts'
import type { Entry, Key, Range } from '../ports.ts'
import type { CategoryRecord, DeletedFileRecord, EventRecord, EvidenceRecord, FileRecord } from '../store/records.ts'
import { jsonOf, type Check } from './check.ts'
import { partsOfKey } from '../store/key.ts'

/** Records whose only purpose is to lead to others: that they lead where they say, and count what is there. */

export async function checkIndexes(check: Check): Promise<void> {
  await checkExternalIds(check)
  await checkListings(check)
  await checkTransactions(check)
  await checkOtherOpenings(check)
  await checkBatchIndex(check, logKeys.batchIds(), ({ id }) => logKeys.batchById(id))
  await checkBatchIndex(check, logKeys.batchRoots(), ({ root }) => logKeys.batchByRoot(root))
  await checkFileRecords(check)
  await checkFileListings(check)
  await checkUnknown(check)
}

async function checkExternalIds(check: Check): Promise<void> {
  for await (const page of check.pages(keys.allExternalIds())) {
    const ids = page.map((entry) => check.decode<{ readonly id: string }>('index', entry)?.id)
    const evidences = await check.records.get(ids.map((id) => keys.evidence(String(id))))
    for (const [i, { key }] of page.entries()) {
      const evidence = check.decode<EvidenceRecord>('evidence', evidences[i])
      const leads = evidence !== undefined && keys.externalId(evidence.externalId, evidence.company) === key
      check.expect(leads, 'index', key, 'It leads to no evidence of this external id')
    }
    check.progress('indexes', page.length)
  }
}

/** Every listed evidence is one of that scope, and each scope's counter counts its listing. */
async function checkListings(check: Check): Promise<void> {
  const counts = new ListingCounts(check)
  for await (const page of check.pages(keys.allEvidenceListings())) {
    const evidences = await check.records.get(page.map(({ key }) => keys.evidence(partsOfKey(key)[3] ?? '')))
    for (const [i, { key }] of page.entries()) {
      const [, kind = '', scope = ''] = partsOfKey(key)
      const evidence = check.decode<EvidenceRecord>('evidence', evidences[i])
      const scopes: Readonly<Record<string, string | undefined>> = {
        company: evidence?.company,
        category: evidence?.categoryId,
        subcategory: evidence?.subcategoryId,
      }
      check.expect(scopes[kind] === scope, 'index', key, 'It lists no evidence of this scope')
      await counts.take(keys.evidenceCount(kind as EvidenceScope, scope))
    }
    check.progress('indexes', page.length)
  }
  await counts.finish()
}

/** Counts a listing whose keys come in order, scope after scope, and compares each with its counter. */
class ListingCounts {
  readonly #check: Check
  #counter: Key | undefined
  #count = 0

  constructor(check: Check) {
    this.#check = check
  }

  async take(counter: Key): Promise<void> {
    if (counter !== this.#counter) {
      await this.#compare()
      this.#counter = counter
      this.#count = 0
    }
    this.#count += 1
  }

  async finish(): Promise<void> {
    await this.#compare()
    // What counts something, but has no listing.
    for await (const page of this.#check.pages(keys.evidenceCounts()))
      for (const entry of page) {
        const [, kind = '', scope = ''] = partsOfKey(entry.key)
        const listing = { ...keys.evidencesIn(kind as EvidenceScope, scope), limit: 1 }
        let isEmpty = true
        for await (const _ of this.#check.records.list(listing)) isEmpty = false
        if (isEmpty) expectCount(this.#check, entry.key, entry, 0)
      }
  }

  async #compare(): Promise<void> {
    if (this.#counter === undefined) return
    expectCount(this.#check, this.#counter, await this.#check.one(this.#counter), this.#count)
  }
}

/** A counter says how many there are. */
export function expectCount(check: Check, key: Key, entry: Entry | undefined, count: number): void {
  const stored = check.guard('counter', key, () => countOf(entry))
  if (stored !== undefined) check.expect(stored === count, 'counter', key, `It says ${stored}, there are ${count}`)
}

/** Each stands for an entry of the log; that it opens and leads to its event is seen from the log's side. */
async function checkTransactions(check: Check): Promise<void> {
  for await (const page of check.pages(keys.transactions())) {
    const entries = page.map(({ key }) => fromHex(partsOfKey(key)[1] ?? ''))
    await expectInLog(check, page, entries)
    check.progress('indexes', page.length)
  }
}

async function checkOtherOpenings(check: Check): Promise<void> {
  for await (const page of check.pages(logKeys.controlOpenings())) {
    const entries = page.map(({ key, value }) => {
      const entry = fromHex(partsOfKey(key)[1] ?? '')
      return entry !== undefined && equalBytes(entryOf(value), entry) ? entry : undefined
    })
    await expectInLog(check, page, entries)
  }
}

async function expectInLog(
  check: Check,
  page: readonly Entry[],
  entries: readonly (Uint8Array | undefined)[],
): Promise<void> {
  const positions = await check.records.positionsOf(
    entries.map((entry) => (entry?.length === 32 ? entry : new Uint8Array(32))),
  )
  for (const [i, { key }] of page.entries())
    check.expect(positions[i] !== undefined, 'index', key, 'It opens no entry of the log')
}

async function checkBatchIndex(check: Check, range: Range, keyOf: (batch: BatchRecord) => Key): Promise<void> {
  for await (const page of check.pages(range)) {
    const places = page.map((entry) => check.decode<BatchIndexRecord>('index', entry))
    for (const [i, { key }] of page.entries()) {
      const batch = await check.read<BatchRecord>('batch', logKeys.batch(places[i]?.end ?? 0))
      check.expect(batch !== undefined && keyOf(batch) === key, 'index', key, 'It leads to no such batch')
    }
  }
}

/** Each file has the owner that it names: from the owner's side, only what is there was looked at. */
async function checkFileRecords(check: Check): Promise<void> {
  for await (const page of check.pages(keys.files())) {
    for (const entry of page) {
      const file = check.decode<FileRecord | DeletedFileRecord>('file', entry)
      if (file === undefined) continue
      check.expect(keys.file(file.id) === entry.key, 'file', entry.key, 'It is stored under another id')
      await (file.ownerKind === 'evidence' ? expectInEvent(check, file) : expectImage(check, file))
      const [listed] = await check.records.get([keys.fileOf(file.ownerId, file.id)])
      const isGone = 'deletion' in file
      check.expect(
        (listed === undefined) === isGone,
        'index',
        keys.fileOf(file.ownerId, file.id),
        'A file is listed while it is there, and only then',
      )
    }
    check.progress('indexes', page.length)
  }
}

async function expectInEvent(check: Check, file: FileRecord | DeletedFileRecord): Promise<void> {
  const event = await check.read<EventRecord>('event', keys.event(file.ownerId, file.version))
  const holds =
    event !== undefined && (Object.hasOwn(event.files, file.id) || Object.hasOwn(event.erased?.files ?? {}, file.id))
  check.expect(holds, 'file', keys.file(file.id), 'No event attached it')
}

async function expectImage(check: Check, { id, company, ownerKind, ownerId, version }: FileRecord): Promise<void> {
  const key = ownerKind === 'category' ? keys.category(company, ownerId) : keys.subcategory(company, ownerId)
  const owner = await check.read<CategoryRecord>('category', key)
  check.expect(owner?.imageId === id && version === 0, 'file', keys.file(id), 'It is the image of no category')
}

async function checkFileListings(check: Check): Promise<void> {
  for await (const page of check.pages(keys.allFileListings())) {
    const files = await check.records.get(page.map(({ key }) => keys.file(partsOfKey(key)[2] ?? '')))
    for (const [i, { key }] of page.entries()) {
      const file = check.decode<FileRecord | DeletedFileRecord>('file', files[i])
      const leads = file !== undefined && keys.fileOf(file.ownerId, file.id) === key
      check.expect(leads, 'index', key, 'It lists no file of this owner')
    }
    check.progress('indexes', page.length)
  }
}

/** Records whose key belongs to no family. */
async function checkUnknown(check: Check): Promise<void> {
  const known = [...logKeyRanges, ...registryKeyRanges]
  let from = ''
  for (const { gte, lt } of known.toSorted((a, b) => (a.gte < b.gte ? -1 : 1))) {
    await reportUnknown(check, { gte: from, lt: gte })
    from = lt
  }
  await reportUnknown(check, { gte: from, lt: '\x7f' })
  for (const range of UNREFERENCED)
    for await (const page of check.pages(range))
      for (const entry of page) check.guard('index', entry.key, () => jsonOf<object>(entry))
}

async function reportUnknown(check: Check, range: Range): Promise<void> {
  for await (const { key } of check.records.list(range))
    check.differ('unknown', key, 'No part of the registry keeps such a record')
}

/** Records that refer to no other record. It is only checked that they can be read. */
const UNREFERENCED: readonly Range[] = [
  keys.companies(),
  keys.pendingDeletions(),
  keys.blobIntents(),
  keys.allIdempotency(),
  keys.idempotencyExpiries(),
]

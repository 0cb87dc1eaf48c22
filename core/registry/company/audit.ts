import type { AuditedAccess } from '../../api/source-systems.ts'
import { Background } from '../../background.ts'
import { isRegistryError } from '../../errors.ts'
import type { IdSource } from '../../ids.ts'
import type { Add, Check, Write } from '../../ports/index.ts'
import { countOf } from '../../store/counter.ts'
import { putRecord } from '../../store/entries.ts'
import { listEntries } from '../../store/read.ts'
import { keys, type AuditKind } from '../../store/keys.ts'
import type { AuditAccessRecord, AuditChangeRecord, AuditShareRecord } from '../../store/records.ts'
import type { ActivityStores } from '../last-uses.ts'

/** So many of each kind a company's audit trail keeps: the newest ones. */
export const MAX_ACCESS_ENTRIES = 10_000
/** Different notes that are held in memory. At this number they are written at once. */
const MAX_NOTES = 1_000
const MAX_COMPANY_ID_LENGTH = 64
const WRITE_DELAY_MS = 60_000
const MAX_ATTEMPTS = 10

/** What a note is about. Equal ones are counted. */
export type Access = AuditedAccess & { readonly companyId: string }

interface Note {
  readonly companyId: string
  record: AuditAccessRecord
}

/**
 * Rejected keys and file tokens. They are collected in memory and written once a minute, so that a client that tries
 * keys causes neither a write for each of them nor a record for each of them.
 */
export class AuditLog {
  readonly #stores: ActivityStores
  readonly #ids: IdSource
  readonly #task: Background
  #notes = new Map<string, Note>()
  /** Notes that were not kept, because there were too many others. */
  #dropped = 0

  constructor(stores: ActivityStores, ids: IdSource) {
    this.#stores = stores
    this.#ids = ids
    this.#task = new Background({
      ...stores,
      failure: 'the audit trail could not be written; it is tried again',
      retryMs: () => WRITE_DELAY_MS,
      run: () => this.#write(),
    })
  }

  note(access: Access): void {
    if (this.#stores.isReadOnly || access.companyId.length > MAX_COMPANY_ID_LENGTH) return
    const key = JSON.stringify(access)
    const note = this.#notes.get(key)
    if (note === undefined) this.#add(key, access)
    else note.record = { ...note.record, count: note.record.count + 1 }
  }

  /** Writes what was noted. */
  async flush(): Promise<void> {
    if (this.#notes.size > 0) await this.#task.runNow()
  }

  async stop(): Promise<void> {
    await this.flush()
    await this.#task.stop()
  }

  #add(key: string, { companyId, ...access }: Access): void {
    if (this.#notes.size >= MAX_NOTES) {
      this.#dropped += 1
      return
    }
    const record = { id: this.#ids.next<string>(), at: this.#stores.clock.now(), count: 1, ...access }
    this.#notes.set(key, { companyId, record })
    this.#task.request(WRITE_DELAY_MS)
    if (this.#notes.size === MAX_NOTES) void this.#task.runNow()
  }

  async #write(): Promise<undefined> {
    const notes = new Set(this.#notes.values())
    this.#notes = new Map()
    if (this.#dropped > 0)
      this.#stores.logger.warn(
        { dropped: this.#dropped },
        'too many rejected keys and file tokens to record each of them',
      )
    this.#dropped = 0
    try {
      await this.#writeNotes(notes)
    } finally {
      this.#keep(notes)
    }
  }

  /** Keeps notes that could not be written for the next time, a minute later. */
  #keep(notes: ReadonlySet<Note>): void {
    for (const note of notes)
      if (this.#notes.size < MAX_NOTES) this.#notes.set(note.record.id, note)
      else this.#dropped += 1
  }

  /** Removes from the set what was written, or may have been. */
  async #writeNotes(notes: Set<Note>): Promise<void> {
    const { records } = this.#stores
    const companies = [...new Set([...notes].map(({ companyId }) => companyId))]
    const found = await records.get(companies.map((id) => keys.company(id)))
    for (const [i, companyId] of companies.entries()) {
      const own = [...notes].filter((note) => note.companyId === companyId)
      try {
        // A client can name any company.
        if (found[i] !== undefined)
          await this.#append(
            companyId,
            own.map(({ record }) => record),
          )
      } catch (error) {
        if (!isRegistryError(error, 'UNKNOWN_OUTCOME')) throw error
        this.#stores.logger.warn({ err: error, companyId }, 'entries of the audit trail may be lost')
      }
      for (const note of own) notes.delete(note)
    }
  }

  /** Writes the entries, and deletes the oldest ones beyond the limits. The checks of the counters make all exact. */
  async #append(companyId: string, entries: readonly AuditAccessRecord[]): Promise<void> {
    const { records, logger } = this.#stores
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const lists = await Promise.all(
        ACCESS_KINDS.map((kind) =>
          this.#additions(
            kind,
            companyId,
            entries.filter((entry) => kindOf(entry) === kind),
          ),
        ),
      )
      const { ok } = await records.commit({
        checks: lists.flatMap(({ checks }) => checks),
        writes: lists.flatMap(({ writes }) => writes),
        adds: lists.flatMap(({ adds }) => adds),
      })
      if (ok) return
    }
    logger.warn({ companyId, entries: entries.length }, 'entries of the audit trail were lost: other servers wrote it')
  }

  /** What a commit adds to the entries of one kind. */
  async #additions(
    kind: AuditKind,
    companyId: string,
    entries: readonly AuditAccessRecord[],
  ): Promise<{ readonly checks: readonly Check[]; readonly writes: readonly Write[]; readonly adds: readonly Add[] }> {
    if (entries.length === 0) return { checks: [], writes: [], adds: [] }
    const { records } = this.#stores
    const counter = keys.auditCount(kind, companyId)
    const [count] = await records.get([counter])
    const tooMany = countOf(count) + entries.length - MAX_ACCESS_ENTRIES
    const oldest = tooMany > 0 ? await listEntries(records, { ...keys.auditOf(kind, companyId), limit: tooMany }) : []
    return {
      checks: [{ key: counter, version: count?.version ?? null }],
      writes: [
        ...entries.map((entry) => putRecord(keys.audit(kind, companyId, entry.id), entry)),
        ...oldest.map(({ key }): Write => ({ key, value: null })),
      ],
      adds: [{ key: counter, delta: entries.length - oldest.length }],
    }
  }
}

const ACCESS_KINDS = ['access', 'unknown'] as const

/** Who has no key of the company must not push out what is known of its keys. */
const kindOf = (record: AuditAccessRecord): AuditKind =>
  record.type === 'rejected' && record.reason === 'unknown' ? 'unknown' : 'access'

/** The part of a commit that adds changes of source systems and shares to the audit trail. They are never deleted. */
export const auditChanges = (
  companyId: string,
  entries: readonly (AuditChangeRecord | AuditShareRecord)[],
): { readonly writes: readonly Write[]; readonly adds: readonly Add[] } => ({
  writes: entries.map((entry) => putRecord(keys.audit('change', companyId, entry.id), entry)),
  adds: entries.length === 0 ? [] : [{ key: keys.auditCount('change', companyId), delta: entries.length }],
})

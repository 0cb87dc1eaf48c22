import type { ErasureOutcome } from '../../api/erasures.ts'
import type { Evidences } from '../../api/evidences.ts'
import { isId } from '../../ids.ts'
import { AuditQuery } from '../../schemas/company-inputs.ts'
import { invalidInput, uuidInput, validate } from '../../schemas/validation.ts'
import { decodeRecord, textOf } from '../../store/codec.ts'
import { keys, lastPartOfKey } from '../../store/keys.ts'
import { danglingReference, readAll } from '../../store/read.ts'
import type { ErasureRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { newestEntries } from '../evidence/rows.ts'
import { enterCompany } from '../permissions.ts'

const DEFAULT_LIMIT = 100

/** The erasures of a company, newest first. */
export const listErasures =
  ({ records }: Context): Evidences['erasures'] =>
  async (scope, query = {}) => {
    const { companyId } = await enterCompany({ records }, scope, 'A')
    const { after, limit = DEFAULT_LIMIT } = validate(AuditQuery, query)
    const before = after === undefined ? undefined : uuidInput(after)
    if (before !== undefined && !isId(before)) throw invalidInput('after', 'must be the id of an erasure')
    const listed = await newestEntries(records, keys.erasuresIn(companyId), { before, limit: limit + 1 })
    const page = listed.slice(0, limit)
    const ids = page.map(({ key }) => lastPartOfKey(key))
    const found = await readAll(
      records,
      page.map((entry, i) => keys.erasure(companyId, textOf(entry), ids[i] ?? '')),
    )
    const pending = await records.get(ids.map(keys.pendingErasure))
    const items = found.map((entry, i) => {
      if (entry === undefined) throw danglingReference('The list of erasures', `erasure ${ids[i]}`)
      const { at, evidence, salt: _, text: __, txId, erased, ...shown } = decodeRecord(entry)
      const disk = pending[i] === undefined ? 'done' : 'pending'
      const when = { at: new Date(at), evidenceId: evidence }
      return { ...shown, ...when, erased: erasedParts(erased), receipt: { txId }, disk } as const
    })
    return { items, hasMore: listed.length > limit }
  }

/** One item for each field and file, as results show them. */
export const erasedParts = (erased: ErasureRecord['erased']): ErasureOutcome['erased'] =>
  erased.flatMap(({ version, fields, files }) => [
    ...fields.map((field) => ({ version, field })),
    ...files.map((file) => ({ version, field: 'files', file })),
  ])

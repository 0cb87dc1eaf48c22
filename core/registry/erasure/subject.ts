import { randomUUID } from 'node:crypto'
import type { Evidences } from '../../api/evidences.ts'
import type { ErasureId } from '../../api/scope.ts'
import { Background } from '../../background.ts'
import { isRegistryError, RegistryError } from '../../errors.ts'
import type { Commit, Stored } from '../../ports/index.ts'
import { SubjectErasureInput } from '../../schemas/erasure-inputs.ts'
import { validate } from '../../schemas/validation.ts'
import { textOf } from '../../store/codec.ts'
import { readCount } from '../../store/counter.ts'
import { listEntry, putRecord, textEntry } from '../../store/entries.ts'
import { companyIn, foldCase, keys, lastPartOfKey } from '../../store/keys.ts'
import { danglingReference, listEntries, readEntry, requireRecord } from '../../store/read.ts'
import type { SubjectErasureRecord } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { enterCompany } from '../permissions.ts'
import { allEvents, type Changed, decideErasure } from './erase.ts'
import { erasedParts } from './list.ts'
import { partsNaming, planErasure } from './plan.ts'

/** How many erasures of subjects a company may have that are not done. */
const MAX_UNFINISHED = 16

/** Stores what is to be erased. `background`: erases it. */
export const eraseSubject =
  ({ records, ids, write }: Context, background: Background): Evidences['eraseSubject'] =>
  async (scope, input) => {
    const { companyId, actor: by } = await enterCompany({ records }, scope, 'A')
    const { subject, dryRun = false, ...asked } = validate(SubjectErasureInput, input)
    const id = ids.next<ErasureId>()
    await write(undefined, async ({ now: createdAt }) => {
      const unfinished = await listEntries(records, { ...keys.subjectsOf(companyId), limit: MAX_UNFINISHED })
      if (unfinished.length === MAX_UNFINISHED)
        throw new RegistryError('UNAVAILABLE', `${MAX_UNFINISHED} erasures of subjects are not done: wait for one`)
      const { count: total } = await readCount(records, [keys.evidenceCount(['company', companyId])])
      const begin = { id, by, createdAt, state: 'asked', progress: { done: 0, total }, erased: 0 } as const
      const record = putRecord(keys.subjectErasure(companyId, id), { ...begin, ...asked, dryRun })
      return { commit: { writes: [record, textEntry(keys.subject(companyId, id), subject)] }, result: null }
    })
    background.request()
    // It may pause because another server works.
    background.wake()
    return { id }
  }

/** How many evidences a step looks at. */
const PAGE = 128
/** A server whose last step was so long ago has ended, and another one goes on. */
const LEASE_MS = 30_000
const RETRY_MS = 10_000

/**
 * Erases subjects in the background, from stored state. Former owners and personas are in no index, so it looks at all
 * evidences of a company by ascending id.
 *
 * A step is one commit: it goes on to the next evidence that names the subject, erases it there, and stores how far it
 * is. It checks the record of the erasure, so each evidence is erased and counted once, also after a crash or if two
 * servers work at the same time. That the record names the server that works only saves work, so it does no harm if the
 * clocks of two servers differ.
 */
export function subjectErasures(context: Context): Background {
  const holder = randomUUID()
  return new Background({
    ...context,
    failure: 'a subject could not be erased yet; it is tried again',
    retryMs: () => RETRY_MS,
    async run(signal) {
      const unfinished = await listEntries(context.records, keys.allSubjects())
      let dueInMs = unfinished.length === 0 ? undefined : LEASE_MS
      let damage: RegistryError | undefined
      for (const subject of unfinished) {
        signal.throwIfAborted()
        try {
          if (await takeStep(context, subject, holder)) dueInMs = 0
        } catch (error) {
          if (!isRegistryError(error, 'CORRUPT')) throw error
          damage = error
        }
      }
      context.erasures.request()
      // Reported when the others are done, because each of their steps meets the damaged record again.
      if (damage !== undefined && dueInMs !== 0) throw damage
      return dueInMs
    },
  })
}

/** Returns false if another server works on it. */
function takeStep(context: Context, subject: Stored, holder: string): Promise<boolean> {
  const key = keyOf(subject)
  return context.write(undefined, async ({ now }) => {
    const { record, check } = await requireRecord(context.records, key, () => danglingReference('A subject', key))
    const { holder: other = holder, heldAt = now } = record
    if (other !== holder && Math.abs(now - heldAt) < LEASE_MS) return { commit: {}, result: false }
    const held: Held = { ...record, state: 'running', holder, heldAt: now }
    const commit = await decideNext(context, subject, held).catch((error: unknown) => {
      if (!isRegistryError(error, 'CORRUPT')) throw error
      context.logger.error({ err: error, erasure: held.id }, 'the erasure of a subject failed')
      return decideEnd(context, subject, { ...held, state: 'failed' })
    })
    return { commit: { ...commit, checks: [...(commit.checks ?? []), check] }, result: true }
  })
}

/** The key of its erasure. */
const keyOf = ({ key }: Stored) => keys.subjectErasure(companyIn(key), lastPartOfKey(key))

/** A record of which a server takes a step. */
type Held = SubjectErasureRecord & { readonly heldAt: number }

/** Looks at a page of evidences, or as far as the first that names the subject. */
async function decideNext(context: Context, subject: Stored, held: Held): Promise<Commit> {
  const all = keys.evidencesOf(companyIn(subject.key))
  const gte = held.cursor === undefined ? all.gte : `${keys.evidence(companyIn(subject.key), held.cursor)}\0`
  const page = await listEntries(context.records, { ...all, gte, limit: PAGE })
  const partsOf = partsNaming(foldCase(textOf(subject)))
  let seen = held
  for (const entry of page) {
    const evidence = readEntry(entry)
    const plan = planErasure(evidence.record, await allEvents(context, evidence.record), partsOf, held.heldAt)
    const done = seen.progress.done + 1
    seen = { ...seen, cursor: evidence.record.id, progress: { done, total: Math.max(done, seen.progress.total) } }
    if (plan.erased.length > 0) return decideFound(context, { evidence, plan }, seen)
  }
  if (page.length < PAGE) return decideEnd(context, subject, { ...seen, state: 'done' })
  return { writes: [putRecord(keyOf(subject), seen)] }
}

/** Notes what an evidence has of the subject, and erases it unless it is a dry run. */
function decideFound(context: Context, named: Changed, held: Held): Commit {
  const { id, dryRun, by, reason, note, heldAt: at } = held
  const { company, id: evidenceId } = named.evidence.record
  const values = erasedParts(named.plan.erased)
  const made = { at, by, reason, ...(note !== undefined && { note }) }
  const { writes = [], ...commit } = dryRun ? {} : decideErasure(context, named, made).commit
  const noted = values.map(({ version, field }) => listEntry(keys.found(company, id, evidenceId, version, field)))
  const erased = held.erased + (dryRun ? 0 : values.length)
  const record = putRecord(keys.subjectErasure(company, id), { ...held, erased })
  return { ...commit, writes: [...writes, ...noted, record] }
}

/** The subject goes, also from the disk. */
function decideEnd({ erasures }: Context, subject: Stored, record: SubjectErasureRecord): Commit {
  const writes = [putRecord(keyOf(subject), record), { key: subject.key, value: null }]
  return erasures.include({ writes }, record.id)
}

import { createHash } from 'node:crypto'
import type { Proofs } from '../../api/proofs.ts'
import type { Bundle, BundleSelection } from '../../schemas/bundle.ts'
import { EXPORT_FORMAT } from '../../commitment/bundle-format.ts'
import { isRegistryError } from '../../errors.ts'
import { decodeListed } from '../../store/evidence.ts'
import { keys, listedRange, type StoredRecord } from '../../store/keys.ts'
import { countOf, danglingReference, decodeRecord, listEntries, readAll } from '../../store/read.ts'
import type { EvidenceRecord, ListedEvidence } from '../../store/records.ts'
import type { Context } from '../context.ts'
import { enterCompany } from '../permissions.ts'
import { bundleOf } from './bundle.ts'
import type { BundleSources } from './bundle-proofs.ts'

/** Evidences that are read at the same time. */
const PAGE = 32
/** A part of the text is returned when it has so many characters. */
const PART_CHARS = 256 * 1024

/** See `Proofs.exportCompany`. One bundle is made after the other, because one can have 32 MB. */
export const exportCompany = (context: Context, sources: BundleSources): Proofs['exportCompany'] =>
  async function* (scope, selection = {}) {
    const { companyId } = await enterCompany(context, scope, 'A')
    const { records, origin, clock } = context
    const [[counter], { size: treeSize }] = await Promise.all([
      records.get([keys.evidenceCount(['company', companyId])]),
      context.log.treeHead(),
    ])
    // Counted first, so that it has at least as many. What is created meanwhile has later ids, and is left out.
    const range = listedRange(companyId)
    const [newest] = await listEntries(records, { ...range, reverse: true, limit: 1 })
    const atLeast = { evidences: countOf(counter) }
    const exportedAt = new Date(clock.now()).toISOString()
    const head = {
      format: EXPORT_FORMAT,
      version: 1,
      company: companyId,
      origin,
      treeSize,
      exportedAt,
      counts: atLeast,
    }
    const hash = createHash('sha256')
    const counts = { evidences: 0, events: 0, unsealed: 0, withoutBundle: 0 }
    let part = `${JSON.stringify(head)}\n`
    const lt = newest === undefined ? range.gte : `${newest.key}\0`
    for (let gte = range.gte; gte < lt;) {
      const entries = await listEntries(records, { ...range, gte, lt, limit: PAGE })
      const listed = entries.map(decodeListed)
      const found = await readAll(
        records,
        listed.map(({ id }) => keys.evidence(id)),
      )
      for (const [i, evidence] of listed.entries()) {
        const shown = await showEvidence(context, sources, { evidence, entry: found[i], selection })
        counts.evidences++
        if ('error' in shown) counts.withoutBundle++
        else counts.events += shown.bundle.events.length
        if ('bundle' in shown && shown.bundle.events.at(-1)?.position === undefined) counts.unsealed++
        part += `${JSON.stringify({ n: counts.evidences, ...shown })}\n`
        if (part.length < PART_CHARS) continue
        hash.update(part)
        yield part
        part = ''
      }
      gte = `${entries.at(-1)?.key ?? lt}\0`
    }
    const sha256 = hash.update(part).digest('hex')
    yield `${part}${JSON.stringify({ end: true, counts, sha256 })}\n`
  }

interface ExportedEvidence {
  readonly evidence: ListedEvidence
  readonly entry: StoredRecord<EvidenceRecord> | undefined
  readonly selection: Pick<BundleSelection, 'history'>
}

/** An evidence without a bundle is named with the reason, and does not keep the others back. */
async function showEvidence(
  context: Context,
  sources: BundleSources,
  { evidence: { id, externalId }, entry, selection }: ExportedEvidence,
): Promise<{ readonly bundle: Bundle } | { readonly id: string; readonly externalId: string; readonly error: string }> {
  try {
    if (entry === undefined) throw danglingReference('A list', `evidence ${id}`)
    const all = { ...selection, fields: 'all', files: 'all' } as const
    return { bundle: await bundleOf(context, sources, decodeRecord(entry), all) }
  } catch (error) {
    if (!isRegistryError(error, 'CORRUPT') && !isRegistryError(error, 'BUNDLE_TOO_LARGE')) throw error
    return { id, externalId, error: error.code }
  }
}

import { createHash } from 'node:crypto'
import type { Proofs } from '../../api/proofs.ts'
import type { CompanyId } from '../../api/scope.ts'
import { EXPORT_FORMAT } from '../../commitment/bundle-format.ts'
import { isRegistryError } from '../../errors.ts'
import type { Bundle } from '../../schemas/bundle.ts'
import { keys, lastPartOfKey, type StoredRecord } from '../../store/keys.ts'
import { countOf } from '../../store/counter.ts'
import { decodeRecord } from '../../store/codec.ts'
import { listEntries, lost } from '../../store/read.ts'
import type { EvidenceRecord } from '../../store/records.ts'
import { BlockProofs } from '../../log/block-proofs.ts'
import type { Context } from '../context.ts'
import { enterCompany, permits } from '../permissions.ts'
import { bundleOf, type Selection, selectionOf } from './bundle.ts'
import { VouchedTrees } from './vouched-trees.ts'
import type { BundleSources } from './vouchers.ts'

const EVERYTHING = selectionOf({ fields: 'all', files: 'all' })
/** Evidences that are read at the same time. */
const PAGE = 32
/**
 * A part of the text is returned when it has so many characters. From 64 KiB on, which V8 stores in 128 KiB because of
 * the dash in each checkpoint, hashing and sending a character takes ten times as long: each part gets new memory from
 * the operating system.
 */
const PART_CHARS = 32 * 1024

/** See `Proofs.exportCompany`. */
export const exportCompany = (context: Context, sources: BundleSources): Proofs['exportCompany'] =>
  async function* (scope) {
    const { companyId: company, principal } = await enterCompany(context, scope, 'R')
    const selection = { ...EVERYTHING, hasReceiptTexts: permits(principal, 'A') }
    // Counted first, so that the lines are at least as many.
    const [[counter], { size: treeSize }] = await Promise.all([
      context.records.get([keys.evidenceCount(['company', company])]),
      context.log.tree.head(),
    ])
    const exportedAt = new Date(context.clock.now()).toISOString()
    const log = { origin: context.origin, treeSize, exportedAt }
    const head = { format: EXPORT_FORMAT, version: 1, company, ...log, counts: { evidences: countOf(counter) } }
    const counts = { evidences: 0, events: 0, unsealed: 0, withoutBundle: 0 }
    const hash = createHash('sha256')
    let part = `${JSON.stringify(head)}\n`
    for await (const shown of shownEvidences(context, sources, company, selection)) {
      counts.evidences++
      if ('error' in shown) counts.withoutBundle++
      else {
        counts.events += shown.bundle.events.length
        if (shown.bundle.events.at(-1)?.position === undefined) counts.unsealed++
      }
      part += `${JSON.stringify({ n: counts.evidences, ...shown })}\n`
      if (part.length < PART_CHARS) continue
      hash.update(part)
      yield part
      part = ''
    }
    if (counts.evidences < head.counts.evidences) throw lost('A part of the list of evidences')
    const sha256 = hash.update(part).digest('hex')
    yield `${part}${JSON.stringify({ end: true, counts, sha256 })}\n`
  }

/** An evidence without a bundle is named with the reason, and does not keep the others back. */
type ShownEvidence =
  | { readonly bundle: Bundle }
  | { readonly id: string; readonly externalId: string; readonly error: string }

/** All evidences of a company by their ids. One is read after the other, because a bundle can have 32 MB. */
async function* shownEvidences(
  context: Context,
  sources: BundleSources,
  company: CompanyId,
  selection: Selection,
): AsyncGenerator<ShownEvidence, void, undefined> {
  const { records, log } = context
  const trees = new VouchedTrees(log, sources, new BlockProofs(log.tree))
  const range = keys.evidencesOf(company)
  // What is created meanwhile has later ids, and is left out.
  const [newest] = await listEntries(records, { ...range, reverse: true, limit: 1 })
  const lt = newest === undefined ? range.gte : `${newest.key}\0`
  for (let gte = range.gte; gte < lt;) {
    const entries = await listEntries(records, { ...range, gte, lt, limit: PAGE })
    await trees.refresh()
    for (const entry of entries) yield await shownEvidence(context, trees, entry, selection)
    gte = `${entries.at(-1)?.key ?? lt}\0`
  }
}

/** The bundle of an evidence, or the reason why there is none. Of a damaged record only the id is known. */
async function shownEvidence(
  context: Context,
  trees: VouchedTrees,
  entry: StoredRecord<EvidenceRecord>,
  selection: Selection,
): Promise<ShownEvidence> {
  let named = { id: lastPartOfKey(entry.key), externalId: '' }
  try {
    const evidence = decodeRecord(entry)
    named = { id: evidence.id, externalId: evidence.externalId }
    return { bundle: await bundleOf(context, trees, evidence, selection) }
  } catch (error) {
    if (isRegistryError(error, 'CORRUPT') || isRegistryError(error, 'BUNDLE_TOO_LARGE'))
      return { ...named, error: error.code }
    throw error
  }
}

import type { ShareKey, Shares } from '../../api/shares.ts'
import { isId } from '../../ids.ts'
import { uuidInput } from '../../schemas/validation.ts'
import { keys } from '../../store/keys.ts'
import { danglingReference, readOne, requireRecord } from '../../store/read.ts'
import type { EvidenceRecord, FileRecord, ShareRecord } from '../../store/records.ts'
import { assertTexts } from '../company/api-keys.ts'
import type { Context } from '../context.ts'
import { erasedValues } from '../evidence/shown.ts'
import { fileNotFound, listFiles } from '../file/stored-file.ts'
import type { LastUses } from '../last-uses.ts'
import { OPERATOR } from '../permissions.ts'
import { bundleOf, type Selection } from '../proof/bundle.ts'
import { readFileOf } from '../proof/file.ts'
import { VouchedTrees } from '../proof/vouched-trees.ts'
import type { BundleSources } from '../proof/vouchers.ts'
import { hasSecret, isOpenAt, shareNotFound } from './stored-share.ts'

/** What every version discloses: with the header they say what happened, and whether the thing is stolen. */
const ALWAYS: readonly string[] = ['action', 'status', 'imageId']

/** The bundle that a share discloses, and what goes with it. */
export const openShare =
  (context: Context, sources: BundleSources, uses: LastUses): Shares['open'] =>
  async (key) => {
    const share = await readShare(context, uses, key)
    const evidence = await evidenceOf(context, share)
    const erased = Object.entries(evidence.erased ?? {}).filter(([name]) => share.fields.includes(name))
    const isNamed = share.fields.includes('categoryId') || share.fields.includes('subcategoryId')
    return {
      bundle: await bundleOf(context, new VouchedTrees(context.log, sources), evidence, selectionOf(share)),
      files: await sharedFiles(context, share, evidence),
      ...(isNamed && { filedUnder: await categoryNames(context, evidence) }),
      ...(erased.length > 0 && { erased: erasedValues(Object.fromEntries(erased)) }),
    }
  }

/** A file that a share discloses. */
export const findSharedFile =
  (context: Context, uses: LastUses): Shares['file'] =>
  async (key, fileId) => {
    const share = await readShare(context, uses, key)
    const file = await readFileOf(context, await evidenceOf(context, share), uuidInput(fileId))
    if (file === undefined || 'deletion' in file || !isShared(share, file)) throw fileNotFound()
    const { id, name, mimeType, size, sha256 } = file
    return { id, name, mimeType, size, sha256 }
  }

/**
 * The share of this key. Throws `SHARE_NOT_FOUND`. Until the secret is known to be right, the calls are the same for
 * every share and for none.
 */
async function readShare({ records, clock }: Context, uses: LastUses, { shareId, secret }: ShareKey) {
  assertTexts({ shareId, secret }, 'shareId', 'secret')
  const share = await readOne(records, keys.share(isId(shareId) ? shareId : ''))
  if (!hasSecret(share, secret) || share === undefined || !isOpenAt(share, clock.now())) throw shareNotFound()
  const { company, actor } = share
  const maker = actor === OPERATOR.kind ? undefined : await readOne(records, keys.sourceSystem(company, actor))
  if (maker?.active === false) throw shareNotFound()
  uses.note(company, share.id)
  return share
}

const evidenceOf = async ({ records }: Context, { id, company, evidence }: ShareRecord): Promise<EvidenceRecord> =>
  (
    await requireRecord(records, keys.evidence(company, evidence), () =>
      danglingReference(`The share ${id}`, `evidence ${evidence}`),
    )
  ).record

/**
 * Values up to the version of the share, of the newest versions for which there is room. All others show what happened,
 * so that no link hides a theft.
 */
const selectionOf = ({ version: last, fields, files }: ShareRecord): Selection => ({
  isShown: () => true,
  hasField: (version, name) => ALWAYS.includes(name) || (version <= last && fields.includes(name)),
  hasFile: (version, id) => version <= last && (files === 'all' || files.some((file) => file === id)),
  kept: ALWAYS,
})

const isShared = (
  { files, version: last }: ShareRecord,
  { id, version }: Pick<FileRecord, 'id' | 'version'>,
): boolean => version <= last && (files === 'all' || files.includes(id))

/** Those that it names are read one by one, because an evidence may have many others. */
async function sharedFiles(context: Context, share: ShareRecord, evidence: EvidenceRecord) {
  if (share.files === 'all') {
    const files = await listFiles(context, evidence.company, evidence.id)
    return files.filter(({ id, eventVersion }) => isShared(share, { id, version: eventVersion })).map(shownFile)
  }
  const files: FileRecord[] = []
  for (const id of share.files.toSorted()) {
    const file = await readFileOf(context, evidence, id)
    if (file !== undefined && !('deletion' in file) && isShared(share, file)) files.push(file)
  }
  return files.map(shownFile)
}

const shownFile = ({ id, mimeType, size }: Pick<FileRecord, 'id' | 'mimeType' | 'size'>) => ({ id, mimeType, size })

async function categoryNames({ records }: Context, { company, categoryId, subcategoryId }: EvidenceRecord) {
  const nameOf = async (id: string): Promise<string> => (await readOne(records, keys.category(company, id)))?.name ?? ''
  return { category: await nameOf(categoryId), subcategory: await nameOf(subcategoryId) }
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SignedHead } from '../../core/index.ts'
import { decodeRecords, isErasureLine, planListed, type ListedPlan } from '../../core/ops/index.ts'
import { configError } from '../settings/config-error.ts'
import { encodeList, ERASURE_LIST } from '../startup/erasure-list.ts'
import { fileOf, openRecordStream, type Manifest } from './manifest.ts'

/**
 * Plans what to leave out of a backup.
 *
 * @param request - `erasures`: paths of lists, which hold the lines of the backup's own one and later ones
 * @param kept - the list that was kept with the secrets
 * @returns the plan, if there is anything to leave out, and all lists as one
 * @throws RegistryError `CONFIG_ERROR` if more was signed than the backup holds, and no list is named, or the lists are
 *   older than `head`; for a list that is damaged, older than the backup, or of another registry
 */
export async function planErasures(
  { directory, manifest }: { readonly directory: string; readonly manifest: Manifest },
  { head, erasures }: { readonly head: SignedHead | undefined; readonly erasures: readonly string[] | undefined },
  kept: Uint8Array | undefined,
): Promise<{ readonly plan: ListedPlan | undefined; readonly list: Uint8Array }> {
  const { folder, logSize } = manifest
  const lacking = (head?.size ?? 0) - logSize
  if (erasures === undefined && lacking > 0) throw unlisted(lacking)
  const own = fileOf(manifest, ERASURE_LIST) === undefined ? [] : await readList(join(directory, folder, ERASURE_LIST))
  const isKeptRead = kept !== undefined && erasures?.length !== 0
  const lines = new Set([...own, ...(isKeptRead ? await readList('the list with the secrets', kept) : [])])
  for (const path of erasures ?? []) {
    const listed = new Set(await readList(path))
    if (own.some((line) => !listed.has(line)))
      throw configError(`${path} lacks erasures of the backup: it is older, damaged, or of another registry`)
    for (const line of listed) lines.add(line)
  }
  const signed = head?.erasures ?? 0
  if (erasures?.length !== 0 && lacking > 0 && lines.size < signed) throw tooOld(lines.size, signed)
  const later = [...lines].slice(own.length)
  const read = () => decodeRecords(openRecordStream(directory, folder))
  const plan = later.length === 0 ? undefined : await planListed(read, later, Date.now())
  return { plan, list: encodeList(lines) }
}

/** The lines of a list. `bytes`: those of a list that is not in a file. */
async function readList(name: string, bytes?: Uint8Array): Promise<readonly string[]> {
  const lines = Buffer.from(bytes ?? (await readFile(name)))
    .toString()
    .split('\n')
  const isWhole = lines.pop() === ''
  if (isWhole && lines.every(isErasureLine)) return lines
  throw configError(
    `${name} is not a list of erasures, or is damaged: name another copy with --erasures, or use --without-erasures`,
  )
}

const ADVICE =
  'Name the newest one with --erasures, or confirm with --without-erasures that what was erased since comes back'

const unlisted = (lacking: number): Error =>
  configError(
    `The backup lacks ${lacking} log entries that were signed, and there is no ${ERASURE_LIST} beside --head, which ` +
      `would say what was erased since. ${ADVICE}`,
  )

const tooOld = (lines: number, signed: number): Error =>
  configError(
    `The lists have ${lines} erased fields and files, but ${ERASURE_LIST} had ${signed} at the time of --head: they ` +
      `are older than it. ${ADVICE}`,
  )

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Type, { type Static } from '#typebox'
import { reasonOf, writePrivateFile, type FileDigest } from '../../adapters/files/index.ts'
import { canonicalJson, RegistryError } from '../../core/index.ts'
import { decodeRecords, filesIn, withoutRecords, type ListedPlan } from '../../core/ops/index.ts'
import { digestFile } from '../file-digest.ts'
import { readShape } from '../../core/schemas/index.ts'
import { configError } from '../settings/config-error.ts'

/**
 * The layout of a backup:
 *
 *     backup.json        the manifest. It is written last, so a backup without it is not complete
 *     FOLDER/records     the log and all records (core/ops/record-stream.ts)
 *     FOLDER/erasures.jsonl  what was erased (core/ops/erasure-list.ts)
 *     FOLDER/data/…      the small files of the data directory, with their paths
 *     FOLDER/secrets     the secret ones, encrypted, if they were requested
 *     blobs/content/…    the files of evidences and categories, by their ids; later backups reuse them
 *
 * The manifest has the hash of each file but those in `blobs`: their hashes are in the records.
 */
export const MANIFEST = 'backup.json'
export const RECORDS = 'records'
export const SECRETS = 'secrets'
export const SIGNED_HEAD = 'signed-head.json'

/** The names of the folders. */
export const FOLDER = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/

const FORMAT = 1

const Count = Type.Integer({ minimum: 0 })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

/** What `backup.json` says. It is trusted only if its own hash fits. */
const Manifest = Type.Object({
  format: Type.Literal(FORMAT),
  /** The log's origin. */
  origin: Type.String(),
  /** ISO 8601, by the clock of the server. */
  createdAt: Type.String(),
  folder: Type.String({ pattern: FOLDER.source }),
  logSize: Count,
  /** Entries that are sealed, and so covered by a signed checkpoint. */
  treeSize: Count,
  /** Paths are relative to `folder`. */
  files: Type.Array(Type.Object({ path: Type.String(), size: Count, sha256: Sha256 })),
  blobs: Type.Object({ count: Count, bytes: Count }),
  /** Files whose bytes were missing or damaged in the registry itself. */
  damagedBlobs: Type.Array(Type.String()),
  /** The part of the reused files whose hashes were compared. Missing in a backup of an earlier version. */
  comparedPart: Type.Optional(Count),
})

export type Manifest = Readonly<Static<typeof Manifest>>
export type BackupFile = Manifest['files'][number]

/** Writes the manifest durably. From now on the backup is complete. */
export const writeManifest = (directory: string, manifest: Manifest): Promise<void> =>
  writePrivateFile(join(directory, MANIFEST), `${JSON.stringify({ ...manifest, sha256: hashOf(manifest) }, null, 2)}\n`)

const hashOf = (manifest: Manifest): string => createHash('sha256').update(canonicalJson(manifest)).digest('hex')

/**
 * Reads the manifest of a backup. Returns `undefined` if there is none: no backup in this directory was completed.
 *
 * @throws RegistryError `CORRUPT` if it is damaged, `CONFIG_ERROR` if a newer version wrote it
 */
export async function readManifest(directory: string): Promise<Manifest | undefined> {
  const path = join(directory, MANIFEST)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  return text === undefined ? undefined : parseManifest(path, text)
}

/** Reads the manifest of a complete backup. Throws `CONFIG_ERROR` if there is none. */
export async function requireManifest(directory: string): Promise<Manifest> {
  const manifest = await readManifest(directory)
  if (manifest !== undefined) return manifest
  throw configError(
    `There is no complete backup in ${directory}: it has no ${MANIFEST}. Name the directory of a backup`,
  )
}

/** A newer format is not damage: the message says what to do about it. */
function parseManifest(path: string, text: string): Manifest {
  const stored = readShape(Type.Intersect([Manifest, Type.Object({ sha256: Sha256 })]), text)
  if (stored !== undefined) {
    const { sha256, ...manifest } = stored
    if (sha256 === hashOf(manifest)) return manifest
  }
  const version = readShape(Type.Object({ format: Type.Integer() }), text)?.format ?? FORMAT
  if (version === FORMAT) throw new RegistryError('CORRUPT', `${path} is damaged: use another backup`)
  throw configError(`${path} has format ${version}, this version reads ${FORMAT}: use a newer version`)
}

/** The file of a backup with this path, `undefined` if the backup does not have it. */
export const fileOf = ({ files }: Manifest, path: string): BackupFile | undefined =>
  files.find((file) => file.path === path)

/** Returns the problem of each file that is missing or differs from the manifest. */
export async function damagedFiles(
  directory: string,
  { folder, files }: Manifest,
  onProgress: (bytes: number) => void,
): Promise<readonly string[]> {
  const problems: string[] = []
  let bytes = 0
  for (const { path, size, sha256 } of files) {
    const problem = await problemOf(join(directory, folder, path), { size, sha256 })
    if (problem !== undefined) problems.push(`${join(folder, path)}: ${problem}`)
    onProgress((bytes += size))
  }
  return problems
}

/** What is wrong with one file, in words; `undefined` if nothing is. */
async function problemOf(path: string, { size, sha256 }: FileDigest): Promise<string | undefined> {
  try {
    const actual = await digestFile(path)
    if (actual.size !== size) return `It has ${actual.size} bytes, but ${size} were written`
    return actual.sha256 === sha256 ? undefined : 'Its bytes are not those that were written'
  } catch (error) {
    return `It cannot be read (${reasonOf(error)})`
  }
}

const READ_BYTES = 1024 * 1024

/** Opens the stream of the log and the records in one folder of a backup, without what a plan leaves out. */
export function openRecordStream(directory: string, folder: string, plan?: ListedPlan): AsyncIterable<Uint8Array> {
  const stream = createReadStream(join(directory, folder, RECORDS), { highWaterMark: READ_BYTES })
  return plan === undefined ? stream : withoutRecords(stream, plan.leftOut)
}

/** The files of evidences and categories that a backup has according to the records in this folder. */
export const filesOfFolder = (directory: string, folder: string, plan?: ListedPlan) =>
  filesIn(decodeRecords(openRecordStream(directory, folder, plan)))

/** The ids of the files that were complete in a backup when its manifest was written. */
export async function completeFilesOf(directory: string, backup: Manifest | undefined): Promise<Set<string>> {
  const ids = new Set<string>()
  if (backup === undefined) return ids
  try {
    for await (const { id } of filesOfFolder(directory, backup.folder)) ids.add(id)
  } catch {
    // If its records are damaged, no file counts as complete.
    return new Set()
  }
  for (const id of backup.damagedBlobs) ids.delete(id)
  return ids
}

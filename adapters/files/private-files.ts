import { randomBytes } from 'node:crypto'
import { encodeUtf8, MIN_SECRET_BYTES, RegistryError } from '../kit/index.ts'
import { createFile, discardStaged, nodeFiles, replaceFile, type FileOperations } from './durable.ts'
import { ifExists, rethrowAs } from './errors.ts'

interface Options {
  readonly files?: FileOperations
}

/**
 * Reads a secret from a file.
 *
 * @param path path of the file; all its bytes are the secret
 * @returns the secret, at least 32 bytes
 * @throws RegistryError `CONFIG_ERROR`, naming the file, if it does not exist, cannot be read or is shorter
 * @example
 * ```ts
 * const rootSecret = await readSecret('/var/lib/evidence/secret')
 * ```
 */
export async function readSecret(path: string, { files = nodeFiles }: Options = {}): Promise<Uint8Array> {
  const secret = await readIfPresent(files, path)
  if (secret === undefined) throw new RegistryError('CONFIG_ERROR', `The secret file ${path} does not exist`)
  return secret
}

/**
 * Reads a secret from a file as `readSecret` does, or creates the file with 32 random bytes (0600, durable). If several
 * processes race, one creates the file and all return the same secret.
 *
 * @param path path of the file, in a directory that exists
 * @throws RegistryError `CONFIG_ERROR`, naming the file, if it cannot be read or written, or is shorter than 32 bytes
 * @example
 * ```ts
 * const rootSecret = await readOrCreateSecret('/var/lib/evidence/secret')
 * ```
 */
export async function readOrCreateSecret(path: string, { files = nodeFiles }: Options = {}): Promise<Uint8Array> {
  const existing = await readIfPresent(files, path)
  if (existing !== undefined) return existing
  const secret = new Uint8Array(randomBytes(MIN_SECRET_BYTES))
  const isNew = await createFile(files, path, secret).catch(failed(path, 'written'))
  return isNew ? secret : readSecret(path, { files })
}

/**
 * Writes a text, such as the operator's key, to a file that only its owner can read (0600), durably. Replaces an
 * existing file.
 *
 * @param path path of the file, in a directory that exists
 * @param text written as UTF-8
 * @throws RegistryError `CONFIG_ERROR`, naming the file, if it cannot be written
 */
export async function writePrivateFile(path: string, text: string, { files = nodeFiles }: Options = {}): Promise<void> {
  await replaceFile(files, path, encodeUtf8(text)).catch(failed(path, 'written'))
}

/**
 * Removes what killed processes have left of files that they wrote to a directory, because it may hold secrets. Call it
 * only as the owner of the directory.
 */
export const discardUnfinishedFiles = (directory: string): Promise<void> => discardStaged(nodeFiles, directory)

async function readIfPresent(files: FileOperations, path: string): Promise<Uint8Array | undefined> {
  const content = await ifExists(files.readFile(path)).catch(failed(path, 'read'))
  if (content === undefined) return undefined
  const secret = new Uint8Array(content)
  if (secret.length >= MIN_SECRET_BYTES) return secret
  throw new RegistryError(
    'CONFIG_ERROR',
    `The secret file ${path} has ${secret.length} bytes, but a secret must have at least ${MIN_SECRET_BYTES}: ` +
      'restore the right file',
  )
}

const failed = (path: string, operation: 'read' | 'written'): ReturnType<typeof rethrowAs> =>
  rethrowAs('CONFIG_ERROR', `The file ${path} could not be ${operation}`)

import { randomBytes } from 'node:crypto'
import { encodeUtf8 } from '../../core/bytes.ts'
import { RegistryError } from '../../core/errors.ts'
import { MIN_SECRET_BYTES } from '../../core/secrets.ts'
import { createFile, errnoOf, nodeFiles, replaceFile, type FileOperations } from './durable.ts'

interface Options {
  readonly files?: FileOperations
}

/** The secret in a file: all its bytes, at least 32. Throws `CONFIG_ERROR`, naming the file, where it is missing, unreadable or shorter. */
export async function readSecret(path: string, { files = nodeFiles }: Options = {}): Promise<Uint8Array> {
  const secret = await readIfThere(files, path)
  if (secret === undefined) throw new RegistryError('CONFIG_ERROR', `The secret file ${path} does not exist`)
  return secret
}

/**
 * The secret in a file, as `readSecret`; where there is none, a new one of 32 random bytes (0600, durable). Of processes
 * that race one makes it and all answer the same. The directory must exist.
 */
export async function readOrCreateSecret(path: string, { files = nodeFiles }: Options = {}): Promise<Uint8Array> {
  const secret = await readIfThere(files, path)
  if (secret !== undefined) return secret
  const made = new Uint8Array(randomBytes(MIN_SECRET_BYTES))
  try {
    if (await createFile(files, path, made)) return made
  } catch (error) {
    throw refusal(path, 'written', error)
  }
  return readSecret(path, { files })
}

/** Puts a text, such as the operator's key, in a file that only its owner can read (0600), durably; replaces what was there. */
export async function writePrivateFile(path: string, text: string, { files = nodeFiles }: Options = {}): Promise<void> {
  try {
    await replaceFile(files, path, encodeUtf8(text))
  } catch (error) {
    throw refusal(path, 'written', error)
  }
}

async function readIfThere(files: FileOperations, path: string): Promise<Uint8Array | undefined> {
  let secret: Uint8Array
  try {
    secret = new Uint8Array(await files.readFile(path))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw refusal(path, 'read', error)
  }
  if (secret.length >= MIN_SECRET_BYTES) return secret
  throw new RegistryError(
    'CONFIG_ERROR',
    `The secret file ${path} has ${secret.length} bytes and needs at least ${MIN_SECRET_BYTES}: restore the right one`,
  )
}

function refusal(path: string, what: 'read' | 'written', cause: unknown): RegistryError {
  const reason = errnoOf(cause) ?? String(cause)
  return new RegistryError(
    'CONFIG_ERROR',
    `The file ${path} could not be ${what} (${reason}): check the path and its rights`,
    {
      cause,
    },
  )
}
